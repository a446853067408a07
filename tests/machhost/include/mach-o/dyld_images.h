/* What TASK_DYLD_INFO leads to, up to the field that names dyld (version 15). */
#ifndef MACHHOST_MACHO_DYLD_IMAGES_H
#define MACHHOST_MACHO_DYLD_IMAGES_H
#include <mach-o/loader.h>
#include <stdbool.h>
#include <stdint.h>
enum dyld_image_mode {
    dyld_image_adding = 0,
    dyld_image_removing = 1,
    dyld_image_info_change = 2,
    dyld_image_dyld_moved = 3
};
struct dyld_image_info {
    const struct mach_header *imageLoadAddress;
    const char *imageFilePath;
    uintptr_t imageFileModDate;
};
struct dyld_uuid_info {
    const struct mach_header *imageLoadAddress;
    uint8_t imageUUID[16];
};
typedef void (*dyld_image_notifier)(enum dyld_image_mode mode, uint32_t count,
                                    const struct dyld_image_info info[]);
struct dyld_all_image_infos {
    uint32_t version;
    uint32_t infoArrayCount;
    const struct dyld_image_info *infoArray;
    dyld_image_notifier notification;
    bool processDetachedFromSharedRegion;
    bool libSystemInitialized;
    const struct mach_header *dyldImageLoadAddress;
    void *jitInfo;
    const char *dyldVersion;
    const char *errorMessage;
    uintptr_t terminationFlags;
    void *coreSymbolicationShmPage;
    uintptr_t systemOrderFlag;
    uintptr_t uuidArrayCount;
    const struct dyld_uuid_info *uuidArray;
    struct dyld_all_image_infos *dyldAllImageInfosAddress;
    uintptr_t initialImageCount;
    uintptr_t errorKind;
    const char *errorClientOfDylibPath;
    const char *errorTargetDylibPath;
    const char *errorSymbol;
    uintptr_t sharedCacheSlide;
    uint8_t sharedCacheUUID[16];
    uintptr_t sharedCacheBaseAddress;
    uint64_t infoArrayChangeTimestamp;
    const char *dyldPath;
};
#endif
