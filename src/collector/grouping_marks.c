/* The end of a name: clones, hashes, versions, as compilers and demanglers put them there. */
#include "collector/grouping_text.h"

#include <string.h>

/* foo.part.0.cold -> foo. Where points divide names (Swift, Go, JavaScript) a word alone is no mark
 * but for those that nobody calls a function. */
static bool cut_clone(struct words *w)
{
    static const char *const alone[] = {"cold", "localalias"};
    static const char *const numbered[] = {"part", "isra",  "constprop", "lto_priv",
                                           "llvm", "clone", "__uniq",    "__part"};
    const char *point = words_last_of(w, '.');
    if (!point || point == w->at)
        return false;
    bool number = point + 1 < w->end && words_all_digits(point + 1, w->end);
    if (!number && !words_is_one_of(point + 1, w->end, alone, sizeof alone / sizeof *alone))
        return false;
    w->end = point;
    point = number ? words_last_of(w, '.') : NULL;
    if (point && point > w->at &&
        words_is_one_of(point + 1, w->end, numbered, sizeof numbered / sizeof *numbered))
        w->end = point;
    return true;
}

/* " [clone .cold]", " (.llvm.123)": as demanglers write the same. */
static bool cut_shown_clone(struct words *w)
{
    static const char *const marks[] = {" [clone ", " (.", " [."};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *mark = words_find(w->at, w->end, marks[i]);
        if (mark && mark > w->at) {
            w->end = mark;
            return true;
        }
    }
    return false;
}

/* "::h0123456789abcdef" of Rust, "@plt", "@@GLIBC_2.2.5", " + 123", "+0x1f". */
static bool cut_tail(struct words *w)
{
    const char *hash = words_left(w) > 19 ? w->end - 19 : NULL;
    if (hash && memcmp(hash, "::h", 3) == 0 && words_all_hex(hash + 3, w->end)) {
        w->end = hash;
        return true;
    }
    const char *sign = words_last_of(w, '@');
    if (sign && sign > w->at && !words_find(sign, w->end, " ") && sign[-1] != ' ') {
        w->end = sign[-1] == '@' ? sign - 1 : sign;
        return w->end > w->at;
    }
    const char *plus = words_last_of(w, '+');
    if (plus && plus > w->at && plus + 1 < w->end) {
        const char *number = plus + 1;
        while (number < w->end && *number == ' ')
            number++;
        bool hex = w->end - number > 2 && number[0] == '0' && number[1] == 'x';
        if (number < w->end &&
            (hex ? words_all_hex(number + 2, w->end) : words_all_digits(number, w->end))) {
            w->end = plus;
            return true;
        }
    }
    return false;
}

void name_cut_marks(struct words *w)
{
    do
        words_trim(w);
    while (cut_shown_clone(w) || cut_tail(w) || cut_clone(w));
}
