/*
 * libcurl, loaded when it is first needed: linking it would cost every command its start-up.
 * Thread-safe.
 */
#ifndef SYMBOLICATE_CURL_LIBRARY_H
#define SYMBOLICATE_CURL_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct curl_function {
    const char *name;
    void *to; /* a function pointer, filled as dlsym(3) shows */
};

/* Loads libcurl 7.85 or later (options that take protocols by name, and an initialisation that is
 * thread-safe), initialises it, and fills the functions. False when it is missing or too old. */
bool curl_library_load(const struct curl_function *functions, size_t count);

#endif
