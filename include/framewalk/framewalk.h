/* Framewalk: everything. See the single headers for the contracts. */
#ifndef FRAMEWALK_FRAMEWALK_H
#define FRAMEWALK_FRAMEWALK_H

#include "capture.h"
#include "names.h"
#if !defined(__APPLE__)
#include "process.h" /* other processes and core files: Linux */
#endif
#include "stack_names.h"
#include "stack_table.h"
#include "text.h"
#include "threads.h"

#endif
