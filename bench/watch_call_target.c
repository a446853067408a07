/* The function of another image whose calls are watched in watch_call.c. It keeps its frame record.
 */
#include "watch_call_target.h"

int bench_watch_target(int value)
{
    return value + 1;
}
