/* Framewalk: everything. See the single headers for the contracts. */
#ifndef FRAMEWALK_FRAMEWALK_H
#define FRAMEWALK_FRAMEWALK_H

#include "framewalk/capture.h"
#include "framewalk/names.h"
#include "framewalk/process.h"
#include "framewalk/stack_names.h"
#include "framewalk/stack_table.h"
#include "framewalk/text.h"
#include "framewalk/threads.h"

#endif
