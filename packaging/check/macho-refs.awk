# What llvm-objdump -h -t -r shows of Mach-O objects, told as of ELF objects that have a section for each function
# and variable, which is what async-safety.sh reads. A Mach-O object has few sections; a symbol owns the
# bytes from its address to the next one's. Names lose the underscore that C names get.

function c_name(name) { sub(/^_/, "", name); return name }

function hex(text,   i, value) {
    for (i = 1; i <= length(text); i++) value = value * 16 + index("123456789abcdef", substr(text, i, 1))
    return value + 0
}

# The symbol that owns a byte of a section; the section itself in front of the first one.
function owner(section, offset,   lo, hi, middle) {
    lo = 0
    hi = count[section]
    while (lo < hi) {
        middle = int((lo + hi + 1) / 2)
        if (at[section, middle] <= offset) lo = middle
        else hi = middle - 1
    }
    return lo ? names[section, lo] : section
}

function flush_symbols(   i, j, k, a, n) {
    print "SYMBOL TABLE:"
    for (i = 1; i <= symbols; i++) {
        # By address within the section: the list comes nearly in order.
        k = symbol_section[i]
        a = symbol_at[i] - base[k]
        n = ++count[k]
        for (j = n; j > 1 && at[k, j - 1] > a; j--) {
            at[k, j] = at[k, j - 1]
            names[k, j] = names[k, j - 1]
        }
        at[k, j] = a
        names[k, j] = symbol_name[i]
        print "0000 " symbol_scope[i] " F ." symbol_name[i] " 0 " symbol_name[i]
    }
    symbols = 0
}

/file format/ {
    delete base; delete count; delete at; delete names
    print
    mode = ""
    next
}
/^Sections:/ { mode = "sections"; next }
/^SYMBOL TABLE:/ { mode = "symbols"; next }
/^RELOCATION RECORDS FOR/ {
    if (mode == "symbols") flush_symbols()
    mode = "relocations"
    section = $4
    gsub(/[\[\]:]/, "", section)
    last_owner = ""
    next
}
mode == "sections" && $1 ~ /^[0-9]+$/ { base[$2] = hex($4); next }
mode == "symbols" && NF >= 5 {
    place = $(NF - 1) == ".hidden" ? $(NF - 2) : $(NF - 1)
    if (place !~ /,/ || $NF ~ /^ltmp/) next
    sub(/.*,/, "", place)
    symbol_name[++symbols] = c_name($NF)
    symbol_at[symbols] = hex($1)
    symbol_section[symbols] = place
    symbol_scope[symbols] = $2
    next
}
mode == "relocations" && NF == 3 && $1 != "OFFSET" && section !~ /^__(compact_unwind|eh_frame|debug|apple)/ {
    target = $3
    sub(/@.*/, "", target)            # by which kind of pointer
    sub(/[-+]0x[0-9a-f]+$/, "", target)
    sub(/-[^-]*$/, "", target)        # relative to what
    if (target ~ /^0x/ || target ~ /^ltmp/) next
    from = owner(section, hex($1))
    if (from != last_owner) print "RELOCATION RECORDS FOR [." from "]:"
    last_owner = from
    print "0 R_MACHO " (target in base ? "." target : c_name(target))
}
