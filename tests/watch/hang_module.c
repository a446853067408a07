/* Loaded by hang_real_test.c: its constructor runs while the loader's lock is held. */
void module_loads(void);

__attribute__((constructor)) static void hang(void)
{
    module_loads();
}
