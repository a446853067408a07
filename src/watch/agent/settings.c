/*
 * What `framewalk run` asks of the agent: the environment variable FRAMEWALK_AGENT, lines of
 * KEY=VALUE.
 *
 * The program's children are not to be watched unless that is wanted, and they inherit what stands
 * in `environ`, however they are started. So the agent takes itself out of it before main: out of
 * LD_PRELOAD, where others may stand too, and FRAMEWALK_AGENT as a whole. The strings are edited
 * where they are: no allocation, and it is what a later `environ` of the program is copied from.
 * exec.c puts both back for those who are to be followed.
 */
#include "watch/agent/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct agent_settings agent_settings;

/* Kept as they were for those who are followed. */
static char settings_line[AGENT_SETTINGS]; /* FRAMEWALK_AGENT=... */
static char settings_text[AGENT_SETTINGS]; /* the same, cut into strings */
static const char *settings_agent;         /* path of this library */
static const char *settings_options;       /* in front of NODE_OPTIONS */

static const char preload_name[] = "LD_PRELOAD=", agent_name[] = "FRAMEWALK_AGENT=",
                  options_name[] = "NODE_OPTIONS=";

static char **find_variable(char **environment, const char *name)
{
    size_t size = strlen(name);
    for (char **at = environment; at && *at; at++)
        if (strncmp(*at, name, size) == 0)
            return at;
    return NULL;
}

static void drop_variable(char **at)
{
    do
        at[0] = at[1];
    while (*at++);
}

/* ---- reading ---- */

static void read_calls(struct agent_settings *s, char *list)
{
    for (char *save, *name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save))
        if (s->call_count < FW_CALLS_NAMES)
            s->calls[s->call_count++] = name;
}

static void read_pair(struct agent_settings *s, const char *key, char *value)
{
    if (strcmp(key, "agent") == 0)
        settings_agent = value;
    else if (strcmp(key, "out") == 0)
        s->out = value;
    else if (strcmp(key, "status") == 0)
        s->status = value;
    else if (strcmp(key, "hang") == 0)
        s->hang_ms = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(key, "severe") == 0)
        s->severe_ms = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(key, "any") == 0)
        s->any_wait = true;
    else if (strcmp(key, "start") == 0)
        s->from_start = true;
    else if (strcmp(key, "follow") == 0)
        s->follow = true;
    else if (strcmp(key, "noscripts") == 0)
        s->no_scripts = true;
    else if (strcmp(key, "starved") == 0)
        s->keep_starved = true;
    else if (strcmp(key, "app") == 0)
        s->app_callers = true;
    else if (strcmp(key, "options") == 0)
        settings_options = value;
    else if (strcmp(key, "calls") == 0)
        read_calls(s, value);
}

static bool read_all(const char *line)
{
    struct agent_settings *s = &agent_settings;
    size_t size = strlen(line) + 1;
    if (size > sizeof settings_line)
        return false;
    memcpy(settings_line, line, size);
    memcpy(settings_text, line + sizeof agent_name - 1, size - (sizeof agent_name - 1));
    for (char *save, *pair = strtok_r(settings_text, "\n", &save); pair;
         pair = strtok_r(NULL, "\n", &save)) {
        char *value = strchr(pair, '=');
        if (value) {
            *value++ = '\0';
            read_pair(s, pair, value);
        }
    }
    return settings_agent && s->out && s->status;
}

/* ---- leaving the environment as it would be ---- */

/* Takes `path` out of a list separated by colons or spaces; true when nothing is left of it. */
static bool drop_entry(char *list, const char *path)
{
    size_t size = strlen(path);
    for (char *at = list; (at = strstr(at, path)); at++) {
        char *end = at + size;
        bool begins = at == list || strchr(": ", at[-1]), ends = strchr(": ", *end) != NULL;
        if (!begins || !ends)
            continue;
        if (*end)
            end++;
        else if (at > list)
            at--;
        memmove(at, end, strlen(end) + 1);
        break;
    }
    return *list == '\0';
}

static void leave_environment(void)
{
    char **at = find_variable(environ, agent_name);
    if (at)
        drop_variable(at);
    at = find_variable(environ, preload_name);
    if (at && drop_entry(*at + sizeof preload_name - 1, settings_agent))
        drop_variable(at);
}

void settings_read(void)
{
    char **at = find_variable(environ, agent_name);
    if (!at || !read_all(*at))
        return;
    agent_settings.present = true;
    if (!agent_settings.follow)
        leave_environment();
}

void settings_forget_options(void)
{
    char **at = settings_options ? find_variable(environ, options_name) : NULL;
    if (!at)
        return;
    char *value = *at + sizeof options_name - 1;
    size_t size = strlen(settings_options);
    if (strncmp(value, settings_options, size) == 0) {
        memmove(value, value + size, strlen(value + size) + 1);
        if (*value == '\0')
            drop_variable(at);
    }
    settings_options = NULL;
}

/* ---- entering that of another program ---- */

static bool holds_agent(char *const *environment)
{
    char **preload = find_variable((char **)environment, preload_name);
    return preload && strstr(*preload, settings_agent) &&
           find_variable((char **)environment, agent_name);
}

static const char *preloaded_before(char *const *environment)
{
    char **preload = find_variable((char **)environment, preload_name);
    return preload ? *preload + sizeof preload_name - 1 : "";
}

struct settings_room settings_room(char *const *environment)
{
    struct settings_room room = {.pointers = 3}; /* the two variables, and the end */
    for (char *const *at = environment; at && *at; at++)
        room.pointers++;
    room.text = sizeof preload_name + strlen(settings_agent) + 1;
    room.text += environment ? strlen(preloaded_before(environment)) : 0;
    return room;
}

char **settings_environment(char *const *environment, char **pointers, char *text)
{
    size_t count = 0;
    if (!environment || holds_agent(environment))
        return NULL;
    for (char *const *at = environment; *at; at++)
        if (strncmp(*at, preload_name, sizeof preload_name - 1) != 0 &&
            strncmp(*at, agent_name, sizeof agent_name - 1) != 0)
            pointers[count++] = *at;
    const char *before = preloaded_before(environment);
    char *end = stpcpy(stpcpy(text, preload_name), settings_agent);
    if (*before)
        stpcpy(stpcpy(end, ":"), before);
    pointers[count++] = text;
    pointers[count++] = settings_line;
    pointers[count] = NULL;
    return pointers;
}
