/* Which version is later: versions.h. */
#include "collector/versions.h"

#include <ctype.h>
#include <string.h>

/* Runs of digits as numbers of any length, everything else by its bytes. */
static int compare(const char *a, const char *b)
{
    while (*a && *b) {
        if (!isdigit((unsigned char)*a) || !isdigit((unsigned char)*b)) {
            if (*a != *b)
                return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            a++;
            b++;
            continue;
        }
        a += strspn(a, "0");
        b += strspn(b, "0");
        size_t x = strspn(a, "0123456789"), y = strspn(b, "0123456789");
        int order = x != y ? (x < y ? -1 : 1) : memcmp(a, b, x);
        if (order)
            return order;
        a += x;
        b += y;
    }
    return (*a != '\0') - (*b != '\0');
}

bool version_is_later(const char *version_a, const char *build_a, const char *version_b,
                      const char *build_b)
{
    int order = compare(version_a, version_b);
    return order ? order > 0 : compare(build_a, build_b) > 0;
}
