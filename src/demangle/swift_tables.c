/* Names that the Swift mangling abbreviates: KNOWN-TYPE-KIND and VALUE-WITNESS-KIND. */
#include "demangle/swift_parse.h"

#include <string.h>

struct known_type {
    const char *name;
    char letter, kind; /* V struct, O enum, P protocol, C class */
};

static const struct known_type first_set[] = {
    {"AutoreleasingUnsafeMutablePointer", 'A', 'V'},
    {"Array", 'a', 'V'},
    {"BinaryFloatingPoint", 'B', 'P'},
    {"Bool", 'b', 'V'},
    {"Dictionary", 'D', 'V'},
    {"Double", 'd', 'V'},
    {"Encodable", 'E', 'P'},
    {"Decodable", 'e', 'P'},
    {"FloatingPoint", 'F', 'P'},
    {"Float", 'f', 'V'},
    {"RandomNumberGenerator", 'G', 'P'},
    {"Hashable", 'H', 'P'},
    {"Set", 'h', 'V'},
    {"DefaultIndices", 'I', 'V'},
    {"Int", 'i', 'V'},
    {"Character", 'J', 'V'},
    {"Numeric", 'j', 'P'},
    {"BidirectionalCollection", 'K', 'P'},
    {"RandomAccessCollection", 'k', 'P'},
    {"Comparable", 'L', 'P'},
    {"Collection", 'l', 'P'},
    {"MutableCollection", 'M', 'P'},
    {"RangeReplaceableCollection", 'm', 'P'},
    {"ClosedRange", 'N', 'V'},
    {"Range", 'n', 'V'},
    {"ObjectIdentifier", 'O', 'V'},
    {"UnsafePointer", 'P', 'V'},
    {"UnsafeMutablePointer", 'p', 'V'},
    {"Equatable", 'Q', 'P'},
    {"Optional", 'q', 'O'},
    {"UnsafeBufferPointer", 'R', 'V'},
    {"UnsafeMutableBufferPointer", 'r', 'V'},
    {"String", 'S', 'V'},
    {"Substring", 's', 'V'},
    {"Sequence", 'T', 'P'},
    {"IteratorProtocol", 't', 'P'},
    {"UnsignedInteger", 'U', 'P'},
    {"UInt", 'u', 'V'},
    {"UnsafeRawPointer", 'V', 'V'},
    {"UnsafeMutableRawPointer", 'v', 'V'},
    {"UnsafeRawBufferPointer", 'W', 'V'},
    {"UnsafeMutableRawBufferPointer", 'w', 'V'},
    {"RangeExpression", 'X', 'P'},
    {"Strideable", 'x', 'P'},
    {"RawRepresentable", 'Y', 'P'},
    {"StringProtocol", 'y', 'P'},
    {"SignedInteger", 'Z', 'P'},
    {"BinaryInteger", 'z', 'P'},
};

static const struct known_type second_set[] = {
    {"Actor", 'A', 'P'},
    {"CheckedContinuation", 'C', 'V'},
    {"UnsafeContinuation", 'c', 'V'},
    {"CancellationError", 'E', 'V'},
    {"UnownedSerialExecutor", 'e', 'V'},
    {"Executor", 'F', 'P'},
    {"SerialExecutor", 'f', 'P'},
    {"TaskGroup", 'G', 'V'},
    {"ThrowingTaskGroup", 'g', 'V'},
    {"TaskExecutor", 'h', 'P'},
    {"AsyncIteratorProtocol", 'I', 'P'},
    {"AsyncSequence", 'i', 'P'},
    {"UnownedJob", 'J', 'V'},
    {"MainActor", 'M', 'C'},
    {"TaskPriority", 'P', 'V'},
    {"AsyncStream", 'S', 'V'},
    {"AsyncThrowingStream", 's', 'V'},
    {"Task", 'T', 'V'},
    {"UnsafeCurrentTask", 't', 'V'},
};

const char *swift_known_type(char letter, bool second, enum swift_kind *kind)
{
    const struct known_type *set = second ? second_set : first_set;
    size_t count = second ? sizeof(second_set) / sizeof(second_set[0])
                          : sizeof(first_set) / sizeof(first_set[0]);
    for (size_t i = 0; i < count; i++) {
        if (set[i].letter != letter)
            continue;
        *kind = set[i].kind == 'V'   ? SW_STRUCT
                : set[i].kind == 'O' ? SW_ENUM
                : set[i].kind == 'P' ? SW_PROTOCOL
                                     : SW_CLASS;
        return set[i].name;
    }
    return NULL;
}

const char *swift_value_witness(const char code[2])
{
    static const struct {
        char code[3];
        const char *name;
    } witnesses[] = {
        {"al", "allocateBuffer"},
        {"ca", "assignWithCopy"},
        {"ta", "assignWithTake"},
        {"de", "deallocateBuffer"},
        {"xx", "destroy"},
        {"XX", "destroyBuffer"},
        {"Xx", "destroyArray"},
        {"CP", "initializeBufferWithCopyOfBuffer"},
        {"Cp", "initializeBufferWithCopy"},
        {"cp", "initializeWithCopy"},
        {"TK", "initializeBufferWithTakeOfBuffer"},
        {"Tk", "initializeBufferWithTake"},
        {"tk", "initializeWithTake"},
        {"pr", "projectBuffer"},
        {"xs", "storeExtraInhabitant"},
        {"xg", "getExtraInhabitantIndex"},
        {"Cc", "initializeArrayWithCopy"},
        {"Tt", "initializeArrayWithTakeFrontToBack"},
        {"tT", "initializeArrayWithTakeBackToFront"},
        {"ug", "getEnumTag"},
        {"up", "destructiveProjectEnumData"},
        {"ui", "destructiveInjectEnumTag"},
        {"et", "getEnumTagSinglePayload"},
        {"st", "storeEnumTagSinglePayload"},
    };
    for (size_t i = 0; i < sizeof(witnesses) / sizeof(witnesses[0]); i++)
        if (memcmp(witnesses[i].code, code, 2) == 0)
            return witnesses[i].name;
    return NULL;
}

const struct swift_phrase *swift_find_phrase(const struct swift_phrase *table, size_t count,
                                             const char *code, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(table[i].code) == length && memcmp(table[i].code, code, length) == 0)
            return &table[i];
    return NULL;
}
