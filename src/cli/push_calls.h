/* `framewalk push --check-calls`: what a version calls that the one before it did not. */
#ifndef CLI_PUSH_CALLS_H
#define CLI_PUSH_CALLS_H

#include "cli/push.h"

/* The exit code: CLI_OK when nothing new is there that is not allowed, CLI_NOT_ALLOWED when there
 * is. */
int push_calls(const struct push_command *command);

#endif
