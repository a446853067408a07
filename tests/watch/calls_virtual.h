/* See calls_base.cpp. Its destructor is the first function that is not inline: vtable and type
 * information of `base` are in its library. */
#ifndef TESTS_WATCH_CALLS_VIRTUAL_H
#define TESTS_WATCH_CALLS_VIRTUAL_H

class base
{
  public:
    virtual ~base();
    virtual int inherited(int value);
    virtual int own(int value) = 0;
};

#endif
