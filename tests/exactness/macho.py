"""Mach-O files under a folder that can be asked about: each slice with its code."""
import os
import struct

ARCHES = {(7, 3): "i386", (0x01000007, 3): "x86_64", (0x01000007, 8): "x86_64h", (12, 9): "armv7",
          (12, 11): "armv7s", (12, 12): "armv7k", (0x0100000C, 0): "arm64", (0x0100000C, 1): "arm64",
          (0x0100000C, 2): "arm64e", (0x0200000C, 1): "arm64_32"}
STEPS = {"i386": 1, "x86_64": 1, "x86_64h": 1, "armv7": 2, "armv7s": 2, "armv7k": 2}
CODE = 0x80000000 | 0x400  # S_ATTR_PURE_INSTRUCTIONS, S_ATTR_SOME_INSTRUCTIONS


def _slice(data, start):
    """(architecture, [(low, high) of code], whether it has DWARF or symbols) of a thin file; None otherwise."""
    magic, = struct.unpack_from("<I", data, start)
    if magic not in (0xFEEDFACE, 0xFEEDFACF):
        return None
    wide = magic == 0xFEEDFACF
    cpu, sub, kind, count = struct.unpack_from("<IIII", data, start + 4)
    place = start + (32 if wide else 28)
    code, known = [], False
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, place)
        if command == (0x19 if wide else 1):  # LC_SEGMENT(_64)
            number, = struct.unpack_from("<I", data, place + (64 if wide else 48))
            section = place + (72 if wide else 56)
            for _ in range(number):
                name = data[section:section + 16].rstrip(b"\0")
                address, length = struct.unpack_from("<QQ" if wide else "<II", data, section + 32)
                flags, = struct.unpack_from("<I", data, section + (64 if wide else 56))
                known |= name in (b"__debug_info", b"__zdebug_info")
                if flags & CODE and length:
                    code.append((address, address + length))
                section += 80 if wide else 68
        elif command == 2:  # LC_SYMTAB
            known |= struct.unpack_from("<I", data, place + 12)[0] > 0
        place += size
    return ARCHES.get((cpu, sub & 0xFFFFFF)), code, known


def slices(path):
    """Yields (architecture, addresses of all instructions; where these have no fixed size, all bytes)."""
    with open(path, "rb") as file:
        data = file.read()
    starts = [0]
    if len(data) >= 8 and data[:4] in (b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf"):
        wide, count = data[3] == 0xBF, struct.unpack_from(">I", data, 4)[0]
        if count > 30:  # a Java class
            return
        starts = [struct.unpack_from(">Q" if wide else ">I", data, 8 + i * (32 if wide else 20) + 8)[0]
                  for i in range(count)]
    for start in starts:
        try:
            found = _slice(data, start)
        except struct.error:
            continue
        if found and found[0] and found[1] and found[2]:
            arch, code, _ = found
            yield arch, [a for low, high in code for a in range(low, high, STEPS.get(arch, 4))]


def files(folder):
    """Paths of all Mach-O files, ascending."""
    for root, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(root, name)
            with open(path, "rb") as file:
                if file.read(4) in (b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf"):
                    yield path
