/*
 * Rules as text (docs/grouping.md, "Rules"), and which one fits a frame.
 *
 *     KEY:PATTERN [KEY:PATTERN...] -> ACTION
 *
 * A project's rules come before the built-in ones and the first that fits decides. So that a frame
 * is not compared with all of them, rules are filed by the first byte of their first pattern.
 */
#include "base/failure.h"
#include "base/utf8.h"
#include "collector/grouping_inner.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 256 << 10, RULES_MAX = 8000, MATCHERS_MAX = 4, WORD_MAX = 16, NO_RULE = 0xffff };

enum key { KEY_FUNCTION, KEY_IMAGE, KEY_PATH, KEY_FILE, KEY_IS, KEY_COUNT };
static const char *const key_words[KEY_COUNT] = {"function:", "image:", "path:", "file:", "is:"};

struct matcher {
    enum key key;
    const char *pattern;
};

struct rule {
    struct matcher matchers[MATCHERS_MAX];
    uint8_t matcher_count;
    uint8_t action;
    uint16_t next; /* of the same shelf; NO_RULE: the last */
    const char *word, *text;
    uint32_t line; /* 0: built in */
};

struct group_rules {
    struct arena arena;
    struct rule *rules;
    size_t count, capacity;
    /* Rules whose first matcher begins with this byte; [256]: with a wildcard. */
    uint16_t first[KEY_COUNT][257], last[KEY_COUNT][257];
};

const char *group_rules_builtin(void)
{
    return group_builtin_text;
}

/* --- Reading ---------------------------------------------------------------------------------- */

struct line {
    struct group_rules *rules;
    uint32_t number;
    bool builtin;
    struct fw_failure *why;
};

static fw_error refuse(const struct line *line, const char *what, const char *text)
{
    fw_error error = failure_say(line->why, FW_ERR_FORMAT, 0, "line %u: %s: %.80s",
                                 (unsigned)line->number, what, text);
    if (line->why)
        line->why->place = line->number;
    return error;
}

static char *trimmed(char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    size_t size = strlen(text);
    while (size && strchr(" \t\r", text[size - 1]))
        text[--size] = '\0';
    return text;
}

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static bool find_key(const char *text, enum key *key)
{
    for (int k = 0; k < KEY_COUNT; k++)
        if (begins(text, key_words[k])) {
            *key = (enum key)k;
            return true;
        }
    return false;
}

/* Where the next KEY: begins; NULL: there is none. */
static char *next_matcher(char *text)
{
    enum key key;
    for (char *at = text; (at = strchr(at, ' ')) != NULL;) {
        at += strspn(at, " \t");
        if (find_key(at, &key))
            return at;
    }
    return NULL;
}

static fw_error read_matchers(const struct line *line, char *text, struct rule *rule)
{
    while (text) {
        struct matcher m;
        if (!find_key(text, &m.key))
            return refuse(line, "expected function:, image:, path:, file: or is:", text);
        char *next = next_matcher(text + strlen(key_words[m.key]));
        if (next)
            next[-1] = '\0';
        m.pattern = trimmed(text + strlen(key_words[m.key]));
        if (!*m.pattern)
            return refuse(line, "nothing stands behind", text);
        if (strlen(m.pattern) > 500)
            return refuse(line, "longer than 500 bytes", m.pattern);
        if (m.key == KEY_IS && strcmp(m.pattern, "main") != 0 && strcmp(m.pattern, "own") != 0)
            return refuse(line, "is: knows main and own, not", m.pattern);
        if (rule->matcher_count == MATCHERS_MAX)
            return refuse(line, "more than 4 patterns", text);
        rule->matchers[rule->matcher_count++] = m;
        text = next;
    }
    return FW_OK;
}

static bool is_class(const char *word)
{
    size_t size = strspn(word, "abcdefghijklmnopqrstuvwxyz-");
    return size && size <= WORD_MAX && !word[size];
}

static fw_error read_action(const struct line *line, char *text, struct rule *rule)
{
    static const char *const plain[] = {"app", "wrapper", "system", "root", "loop", "skip"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(text, plain[i]) == 0) {
            rule->action = (uint8_t)i;
            return FW_OK;
        }
    bool leaf = begins(text, "leaf "), entry = begins(text, "entry ");
    if (!leaf && !entry)
        return refuse(line,
                      "expected app, wrapper, system, root, loop, skip, leaf CLASS or entry WORD",
                      text);
    rule->action = leaf ? GROUP_ACT_LEAF : GROUP_ACT_ENTRY;
    rule->word = trimmed(strchr(text, ' '));
    return is_class(rule->word) ? FW_OK : refuse(line, "not one word of small letters", rule->word);
}

static void file_rule(struct group_rules *rules, uint16_t index)
{
    const struct matcher *m = &rules->rules[index].matchers[0];
    unsigned char c = (unsigned char)*m->pattern;
    size_t shelf = c == '*' || c == '?' || m->key == KEY_IS ? 256 : c;
    uint16_t *last = &rules->last[m->key][shelf];
    if (*last == NO_RULE)
        rules->first[m->key][shelf] = index;
    else
        rules->rules[*last].next = index;
    *last = index;
}

static fw_error add_rule(const struct line *line, const struct rule *rule)
{
    struct group_rules *rules = line->rules;
    if (rules->count == RULES_MAX)
        return refuse(line, "too many rules", "8000 at most");
    if (rules->count == rules->capacity) {
        size_t capacity = rules->capacity ? rules->capacity * 2 : 512;
        struct rule *grown = realloc(rules->rules, capacity * sizeof *grown);
        if (!grown)
            return failure_say(line->why, FW_ERR_MEMORY, 0, "no memory for rules");
        rules->rules = grown;
        rules->capacity = capacity;
    }
    rules->rules[rules->count] = *rule;
    file_rule(rules, (uint16_t)rules->count++);
    return FW_OK;
}

static char *copy(struct group_rules *rules, const char *text, size_t size)
{
    char *to = arena_take(&rules->arena, size + 1);
    if (to) {
        memcpy(to, text, size);
        to[size] = '\0';
    }
    return to;
}

/* Rules are shown to people, as they are. */
static bool is_printable(const char *text)
{
    for (size_t size; *text; text += size) {
        size = utf8_length(text);
        if (!size || (utf8_is_control(text) && *text != '\t' && *text != '\r'))
            return false;
    }
    return true;
}

static fw_error read_line(const struct line *line, const char *text, size_t size)
{
    struct rule rule = {.next = NO_RULE, .line = line->builtin ? 0 : line->number};
    char *own = copy(line->rules, text, size);
    char *shown = copy(line->rules, text, size);
    if (!own || !shown)
        return failure_say(line->why, FW_ERR_MEMORY, 0, "no memory for rules");
    if (!is_printable(own))
        return refuse(line, "holds bytes that are no text", "");
    own = trimmed(own);
    rule.text = trimmed(shown);
    if (!*own || *own == '#')
        return FW_OK;
    char *arrow = NULL;
    for (char *at = own; (at = strstr(at, " -> ")) != NULL; at++)
        arrow = at;
    if (!arrow)
        return refuse(line, "no \" -> \" and action", own);
    *arrow = '\0';
    fw_error error = read_action(line, trimmed(arrow + 4), &rule);
    if (error == FW_OK)
        error = read_matchers(line, trimmed(own), &rule);
    return error != FW_OK ? error : add_rule(line, &rule);
}

static fw_error read_text(struct group_rules *rules, const char *text, bool builtin,
                          struct fw_failure *why)
{
    struct line line = {rules, 1, builtin, why};
    if (strlen(text) > TEXT_MAX)
        return failure_say(why, FW_ERR_FORMAT, 0, "rules are longer than %d bytes", TEXT_MAX);
    for (; *text; line.number++) {
        size_t size = strcspn(text, "\n");
        fw_error error = read_line(&line, text, size);
        if (error != FW_OK)
            return error;
        text += size + (text[size] == '\n');
    }
    return FW_OK;
}

fw_error group_rules_parse(const char *text, struct group_rules **out, struct fw_failure *why)
{
    *out = NULL;
    struct group_rules *rules = calloc(1, sizeof *rules);
    if (!rules)
        return failure_say(why, FW_ERR_MEMORY, 0, "no memory for rules");
    memset(rules->first, 0xff, sizeof rules->first);
    memset(rules->last, 0xff, sizeof rules->last);
    fw_error error = text ? read_text(rules, text, false, why) : FW_OK;
    if (error == FW_OK)
        error = read_text(rules, group_builtin_text, true, why);
    if (error != FW_OK) {
        group_rules_free(rules);
        return error;
    }
    *out = rules;
    return FW_OK;
}

void group_rules_free(struct group_rules *rules)
{
    if (!rules)
        return;
    arena_free(&rules->arena);
    free(rules->rules);
    free(rules);
}

/* --- Matching --------------------------------------------------------------------------------- */

/* "*": any bytes, "?": any one. Goes back to the last star only: no more than one product of the
 * two sizes. */
static bool fits(const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

struct subject { /* a frame as patterns see it; NULL: nothing to compare with */
    const char *texts[KEY_COUNT];
    const struct group_frame *frame;
};

static bool matcher_fits(const struct matcher *m, const struct subject *s)
{
    if (m->key == KEY_IS)
        return *m->pattern == 'm' ? s->frame->is_main : s->frame->own_symbols;
    return s->texts[m->key] && fits(m->pattern, s->texts[m->key]);
}

static bool rule_fits(const struct rule *rule, const struct subject *s)
{
    for (size_t i = 0; i < rule->matcher_count; i++)
        if (!matcher_fits(&rule->matchers[i], s))
            return false;
    return true;
}

/* The first rule of a shelf that fits, if it stands before `best`. */
static uint16_t search(const struct group_rules *rules, uint16_t at, const struct subject *s,
                       uint16_t best)
{
    for (; at < best; at = rules->rules[at].next)
        if (rule_fits(&rules->rules[at], s))
            return at;
    return best;
}

/* What holds when no rule fits. */
static struct group_ruling otherwise(const struct group_frame *frame, const char *name)
{
    if (*frame->image)
        return (struct group_ruling){GROUP_ACT_APP, NULL, "no rule: an image of the app", 0};
    if (name)
        return (struct group_ruling){GROUP_ACT_APP, NULL, "no rule: code outside of images", 0};
    return (struct group_ruling){GROUP_ACT_SKIP, NULL, "neither image nor name are known", 0};
}

struct group_ruling group_rule_of(const struct group_rules *rules, const struct group_frame *frame,
                                  const char *name)
{
    const char *slash = strrchr(frame->image, '/');
    const struct subject s = {.texts = {[KEY_FUNCTION] = name,
                                        [KEY_IMAGE] = slash ? slash + 1 : frame->image,
                                        [KEY_PATH] = frame->path,
                                        [KEY_FILE] = frame->file},
                              .frame = frame};
    uint16_t best = NO_RULE;
    for (int k = 0; k < KEY_COUNT; k++) {
        if (s.texts[k] && *s.texts[k])
            best = search(rules, rules->first[k][(unsigned char)*s.texts[k]], &s, best);
        best = search(rules, rules->first[k][256], &s, best);
    }
    if (best == NO_RULE)
        return otherwise(frame, name);
    const struct rule *rule = &rules->rules[best];
    return (struct group_ruling){(enum group_action)rule->action, rule->word, rule->text,
                                 rule->line};
}
