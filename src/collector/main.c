/* framewalk-collector: the server behind `framewalk serve`. */
#include "collector/collector.h"

#include <stdio.h>

int main(void)
{
    fputs("framewalk-collector: nothing to serve yet\n", stderr);
    return 1;
}
