/* A class whose vtable, in .data.rel.ro of this image, leads to a function of another one. */
#include "watch/calls_virtual.h"

namespace
{
class derived : public base
{
  public:
    int own(int value) override
    {
        return value;
    }
};
} // namespace

static int call(base *object, int times)
{
    int sum = 0;
    for (int i = 0; i < times; i++)
        sum += object->inherited(i);
    return sum;
}

extern "C" int use_inherited(int times);
extern "C" int use_inherited(int times)
{
    derived object;
    base *volatile hidden = &object; /* no compiler may know whose it is */
    return call(hidden, times);
}
