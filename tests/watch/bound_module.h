/* Functions of the libraries that bound_pointers_darwin_test.c loads. */
#ifndef TESTS_WATCH_BOUND_MODULE_H
#define TESTS_WATCH_BOUND_MODULE_H

/* bound_target.c: what is called. */
int target_add(int a, int b);
double target_mixed(int a, double b, const char *c, long d, int e, int f, int g, double h, int i);

/* bound_module.c: who calls. `from` is a function's own name below. */
struct bound_calls {
    int (*direct)(int a, int b);      /* through a stub */
    int (*by_table)(int a, int b);    /* through a constant table */
    int (*by_variable)(int a, int b); /* through a variable that was initialised */
    int (*in_constructor)(void);      /* what its constructor got from target_add(1, 1) */
    double (*mixed)(void);
    int (*(*address)(void))(int, int); /* &target_add as the module sees it */
};
const struct bound_calls *bound_calls(void);

#endif
