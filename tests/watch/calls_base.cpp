/* A class with virtual functions, for classes of other images to inherit. */
#include "watch/calls_virtual.h"

int base::inherited(int value)
{
    return value + 1;
}

base::~base()
{
}
