/* The functions of host_module.c and host_needed.c. */
#ifndef MACHHOST_HOST_MODULE_H
#define MACHHOST_HOST_MODULE_H

__attribute__((visibility("default"))) int module_find(const char *word);
__attribute__((visibility("default"))) int module_count(void);
__attribute__((visibility("default"))) int module_has_weak(void);
__attribute__((visibility("default"))) void module_tell(int *flag);
__attribute__((visibility("default"))) extern int module_initialised;
__attribute__((visibility("default"))) int needed_value(void);

#endif
