/* A library to be loaded and unloaded by images_test.c, built twice: the same code at the same
 * places, but frames of another size and a function of another name. */
void FUNCTION(void (*function)(void));
void FUNCTION(void (*function)(void))
{
    volatile char frame[FRAME];
    frame[0] = 1;
    function();
    (void)frame[0];
}

void (*module_entry(void))(void (*)(void));
void (*module_entry(void))(void (*)(void))
{
    return FUNCTION;
}
