#include "base/failure.h"
#include "collector/blobs_driver.h"

fw_error blobs_s3_open(const char *url, const char *cache, uint64_t cache_bytes,
                       struct blobs **blobs, struct fw_failure *why)
{
    (void)url, (void)cache, (void)cache_bytes, (void)blobs;
    return failure_say(why, FW_ERR_UNSUPPORTED, 0, "S3 comes with the next commit");
}
