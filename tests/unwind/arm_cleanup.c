/* Functions with cleanups: compiled for arm with -fexceptions, their entries in the exception table
 * name a personality routine of the language and carry its data. */
#include <stdint.h>
#include <string.h>

void release(int *what);
int use(int *what, const char *text, double scale);

int one_cleanup(int a)
{
    __attribute__((cleanup(release))) int held = a;
    return use(&held, "one", 1.5) + 1;
}

int large_frame(int a)
{
    __attribute__((cleanup(release))) int held = a;
    int room[2000];
    memset(room, a, sizeof room);
    return use(room, "large", 2.5) + use(&held, "held", 3.5);
}

int many_registers(int a, int b, int c, int d, double x, double y)
{
    __attribute__((cleanup(release))) int held = a;
    int sum = 0;
    for (int i = 0; i < a; i++)
        sum += use(&held, "loop", x * i + y) * b + use(&sum, "more", y * c) * d;
    return sum + a + b + c + d + (int)(x + y);
}

int changing_frame(int n)
{
    __attribute__((cleanup(release))) int held = n;
    int room[n];
    room[0] = n;
    return use(room, "changing", 0.5) + use(&held, "held", 4.5);
}
