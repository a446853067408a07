"""addresses.py FILE COUNT: COUNT link-time addresses in the code of an ELF file, all different, drawn by
lot but the same on every run; one hexadecimal number a line.

Code is where functions of the symbol table lie: padding between sections and stubs of the linker are
no question that anybody asks.
"""
import bisect
import itertools
import mmap
import random
import struct
import sys


def sections(data):
    """Yields (name, type, flags, address, offset, size, link, entry size) of a 64-bit little-endian file."""
    offset, = struct.unpack_from("<Q", data, 40)
    entry, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * entry) for i in range(count)]
    strings = headers[names][4]
    for name, kind, flags, address, place, size, link, _, _, each in headers:
        end = data.find(b"\0", strings + name)
        yield data[strings + name:end].decode(), kind, flags, address, place, size, link, each


def functions(data):
    """Ranges of the functions of the symbol table, merged and ascending."""
    ranges = []
    for _, kind, _, _, place, size, _, _ in sections(data):
        if kind == 2:  # SHT_SYMTAB
            for _, info, _, section, value, length in struct.iter_unpack("<IBBHQQ", data[place:place + size]):
                if info & 15 in (2, 10) and section and length:  # functions and indirect functions
                    ranges.append((value, value + length))
    ranges.sort()
    merged = []
    for low, high in ranges:
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def main():
    with open(sys.argv[1], "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    ranges = functions(data)
    ends = list(itertools.accumulate(high - low for low, high in ranges))
    lot = random.Random(42)
    for place in lot.sample(range(ends[-1]), min(int(sys.argv[2]), ends[-1])):
        i = bisect.bisect_right(ends, place)
        low, high = ranges[i]
        print(hex(high - (ends[i] - place)))


main()
