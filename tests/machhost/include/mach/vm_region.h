/* What vm_region answers; the 64-bit structure is packed to 4 bytes, as the kernel's interface is.
 */
#ifndef MACHHOST_MACH_VM_REGION_H
#define MACHHOST_MACH_VM_REGION_H
#include <mach/boolean.h>
#include <mach/message.h>
#include <mach/vm_behavior.h>
#include <mach/vm_inherit.h>
#include <mach/vm_prot.h>
#include <mach/vm_types.h>
#pragma pack(push, 4)
typedef int *vm_region_info_t;
typedef int *vm_region_info_64_t;
typedef int *vm_region_recurse_info_t;
typedef int *vm_region_recurse_info_64_t;
typedef int vm_region_flavor_t;
#define VM_REGION_BASIC_INFO    10
#define VM_REGION_BASIC_INFO_64 9
struct vm_region_basic_info_64 {
    vm_prot_t protection;
    vm_prot_t max_protection;
    vm_inherit_t inheritance;
    boolean_t shared;
    boolean_t reserved;
    memory_object_offset_t offset;
    vm_behavior_t behavior;
    unsigned short user_wired_count;
};
typedef struct vm_region_basic_info_64 vm_region_basic_info_data_64_t;
typedef struct vm_region_basic_info_64 *vm_region_basic_info_64_t;
#define VM_REGION_BASIC_INFO_COUNT_64                                                              \
    ((mach_msg_type_number_t)(sizeof(vm_region_basic_info_data_64_t) / sizeof(int)))
struct vm_region_basic_info {
    vm_prot_t protection;
    vm_prot_t max_protection;
    vm_inherit_t inheritance;
    boolean_t shared;
    boolean_t reserved;
    uint32_t offset;
    vm_behavior_t behavior;
    unsigned short user_wired_count;
};
typedef struct vm_region_basic_info vm_region_basic_info_data_t;
#define VM_REGION_BASIC_INFO_COUNT                                                                 \
    ((mach_msg_type_number_t)(sizeof(vm_region_basic_info_data_t) / sizeof(int)))
/* The short form of what vm_region_recurse_64 answers. */
struct vm_region_submap_short_info_64 {
    vm_prot_t protection;
    vm_prot_t max_protection;
    vm_inherit_t inheritance;
    memory_object_offset_t offset;
    unsigned int user_tag;
    unsigned int ref_count;
    unsigned short shadow_depth;
    unsigned char external_pager;
    unsigned char share_mode;
    boolean_t is_submap;
    vm_behavior_t behavior;
    uint32_t object_id;
    unsigned short user_wired_count;
};
typedef struct vm_region_submap_short_info_64 vm_region_submap_short_info_data_64_t;
#define VM_REGION_SUBMAP_SHORT_INFO_COUNT_64                                                       \
    ((mach_msg_type_number_t)(sizeof(vm_region_submap_short_info_data_64_t) / sizeof(natural_t)))
#define SM_COW     1
#define SM_PRIVATE 2
#define SM_EMPTY   3
#define SM_SHARED  4
#pragma pack(pop)
#endif
