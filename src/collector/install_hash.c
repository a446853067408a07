/* The hash of an installation's id: install.h. Apart from the rest, which needs the database. */
#include "collector/install.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

fw_error install_hash(const char *salt, struct span text, uint8_t hash[16])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (!HMAC(EVP_sha256(), salt, (int)strlen(salt), text.data, text.size, digest, &size))
        return FW_ERR_MEMORY;
    memcpy(hash, digest, 16);
    return FW_OK;
}
