// lookup.*, the side of LLVM's GSYM reader: GSYM ADDRESSES measures lookups with all inline frames.
#include <llvm/DebugInfo/GSYM/GsymReader.h>
#include <llvm/DebugInfo/GSYM/LookupResult.h>

#include "lookup.h"

static size_t lookup(void *context, uint64_t address)
{
    const auto *reader = static_cast<const llvm::gsym::GsymReader *>(context);
    auto result = reader->lookup(address);
    if (!result) {
        llvm::consumeError(result.takeError());
        return 0;
    }
    return result->Locations.empty() ? 1 : result->Locations.size();
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    auto reader = llvm::gsym::GsymReader::openFile(argv[1]);
    if (!reader) {
        llvm::errs() << argv[1] << ": " << llvm::toString(reader.takeError()) << "\n";
        return 1;
    }
    lookup_measure(lookup_read(argv[2]), lookup, &*reader);
}
