/*
 * `framewalk serve`: becomes framewalk-collector, which is a program of its own so that the other
 * commands need not load its libraries. It reads the options (src/collector/serve_options.c); here
 * is their text. framewalk-serve(1) and the completions list the same ones.
 */
#include "cli/serve.h"

#include "cli/beside.h"
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

void serve_usage(FILE *to)
{
    fputs(
        "usage: framewalk serve [OPTIONS]\n"
        "Starts the collector: takes reports and debug files, groups hangs, and shows them on its\n"
        "page. Prints where it listens, and on the first start a token to sign in with.\n"
        "\n"
        "      --data FOLDER         everything that it keeps (framewalk-data)\n"
        "      --listen HOST:PORT    where it listens (127.0.0.1:8470); port 0: any free one\n"
        "      --base-url URL        the address that browsers use, when it is another\n"
        "      --tls-cert FILE       PEM certificate; with --tls-key it speaks HTTPS\n"
        "      --tls-key FILE        PEM key of the certificate\n"
        "      --trusted-proxy ADDRESS  a proxy in front, or its network (10.0.0.0/8), whose\n"
        "                        X-Forwarded-For is believed; may be given several times\n"
        "      --new-token           print a new administrator's token, and end\n"
        "      --backup FILE         all of the data folder into one file, while a server runs\n"
        "      --restore FILE        make the data folder of such a file; it must be empty\n"
        "      --check               look whether all that is stored is whole, and end\n"
        "\n"
        "Beyond one machine:\n"
        "      --database URL        sqlite:FILE or postgresql://... (SQLite in the data folder)\n"
        "      --store URL           file:FOLDER or s3://BUCKET/PREFIX?endpoint=URL&region=R\n"
        "  FW_DATABASE and FW_STORE in the environment are the same: there nobody else sees a\n"
        "  password (PGPASSFILE, PGPASSWORD and AWS_... work, too)\n"
        "\n"
        "Limits; sizes take K, M, G:\n"
        "      --workers N           that process reports and jobs (one a processor)\n"
        "      --requests-per-minute N  of one key, or address without a key (60000); 0: any\n"
        "      --connections-per-address N  at once (128; programs of this machine 1024)\n"
        "      --disk-reserve SIZE   free space below which nothing more is taken (512M)\n"
        "      --upload-limit SIZE   of one debug file or archive (4G)\n"
        "      --unpacked-limit SIZE  of all that one archive holds (10G)\n"
        "      --convert-memory SIZE  of the process that reads a debug file (3G)\n"
        "      --convert-seconds N   of processor time, the same (600)\n"
        "      --convert-output SIZE  of what it writes (4G)\n"
        "      --open-symbols        debug files and names need no token\n"
        "  -h, --help                this text\n"
        "\n"
        "Exit status: 0 ended by SIGTERM or SIGINT; 1 could not start; 2 wrong command line.\n"
        "Of --check: 0 all is whole; 1 something is damaged or missing; 3 not all could be read.\n",
        to);
}

static bool can_run(const char *path, const void *context)
{
    (void)context;
    return access(path, X_OK) == 0;
}

int serve_main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            serve_usage(stdout);
            return CLI_OK;
        }
    }
    char path[PATH_MAX + 64];
    if (!beside_find("framewalk-collector", can_run, NULL, path, sizeof path)) {
        cli_error("framewalk-collector is not installed: it belongs beside this command or into "
                  "lib/framewalk");
        return CLI_FAILED;
    }
    argv[0] = path;
    execv(path, argv);
    cli_error("%s: %s", path, strerror(errno));
    return CLI_FAILED;
}
