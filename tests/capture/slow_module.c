/* Loaded by threads_locks_test.c: its constructor runs while the loader's lock is held. */
void slow_module_loads(void);

__attribute__((constructor)) static void take_long(void)
{
    slow_module_loads();
}
