/*
 * Other tools' reports without what tells who a person or a device is:
 *
 *     /Users/NAME/..., /home/NAME/...   ~/... ; inside a longer path NAME becomes USER
 *     "crashReporterKey", "deviceIdentifierForVendor", names of devices and hosts (JSON)
 *     CrashReporter Key:, Anonymous UUID:, Device Name:, Computer Name: (text)
 *                                       a salted hash of the value, 32 hexadecimal digits
 *
 * Every other byte stays as it was, so the report is read as before, and one report has one result
 * as long as the salt is the same.
 */
#ifndef COLLECTOR_SCRUB_H
#define COLLECTOR_SCRUB_H

#include "report/report.h"

/* Appends to `out`. `salt`: install.h. FW_ERR_MEMORY. */
fw_error scrub(struct span text, const char *salt, struct report_bytes *out);

#endif
