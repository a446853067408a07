/* Loaded and unloaded by darwin_images_test.c; also built with some or all of its names taken away.
 */
typedef int plugin_call(void *context);

__attribute__((noinline)) static int hidden_part(plugin_call *call, void *context)
{
    int result = call(context);
    __asm__ volatile("" ::: "memory");
    return result + 1;
}

__attribute__((visibility("default"))) int plugin_run(plugin_call *call, void *context);
int plugin_run(plugin_call *call, void *context)
{
    return hidden_part(call, context) + 1;
}

/* Where hidden_part is, for those who have lost its name. */
__attribute__((visibility("default"))) void *plugin_hidden(void);
void *plugin_hidden(void)
{
    return (void *)hidden_part;
}
