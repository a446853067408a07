/* Framewalk: everything that libframewalk is. See the single headers for the contracts. */
#ifndef FRAMEWALK_FRAMEWALK_H
#define FRAMEWALK_FRAMEWALK_H

#include "calls.h"
#include "capture.h"
#include "hang.h"
#include "names.h"
#if !defined(__APPLE__)
#include "process.h" /* other processes and core files: Linux */
#endif
#include "reports.h"
#include "stack_names.h"
#include "stack_table.h"
#include "text.h"
#include "threads.h"

#endif
