#include "cmocka.h"
static void nothing(void **state)
{
    (void)state;
}
int main(void)
{
    const struct CMUnitTest t[] = {cmocka_unit_test(nothing)};
    return cmocka_run_group_tests(t, NULL, NULL);
}
