/* What an application does with the installed library. */
#include <framewalk/framewalk.h>

#include <stdio.h>

int main(void)
{
    printf("%s\n", fw_error_text(FW_OK));
    return 0;
}
