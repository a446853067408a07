/* A module to be loaded and unloaded. */
__attribute__((visibility("default"))) int fw_located(void);
int fw_located(void)
{
    return 1;
}
