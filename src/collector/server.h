/*
 * The server's life: its parts are started in one order (server.c) and ended in the other.
 */
#ifndef COLLECTOR_SERVER_H
#define COLLECTOR_SERVER_H

#include "collector/collector.h"

/* Until SIGTERM or SIGINT. The process's exit status. */
int server_run(const struct collector_options *options);
/* Prints a new admin's token and ends. */
int server_new_token(const struct collector_options *options);

/* Free bytes for further reports and files, of the data folder and of the store; at most a second
 * old. Thread-safe. */
uint64_t server_disk_free(struct collector *c);

#endif
