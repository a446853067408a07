/*
 * Prepared memory (prepared.h). A piece that nobody uses begins with its size, and stands in one of
 * a few places that change owner by one atomic exchange.
 */
#include "os/darwin/prepared.h"

#include <mach/mach.h>
#include <stdatomic.h>

enum { SMALLEST = 64 << 10, TOUCHED = 4096 /* no page of the system is smaller */ };

static uint8_t *_Atomic kept[PREPARED_KEPT];

static size_t size_of(const uint8_t *bytes)
{
    return *(const size_t *)(const void *)bytes;
}

static void unmap(uint8_t *bytes, size_t size)
{
    vm_deallocate(mach_task_self(), (vm_address_t)bytes, size);
}

static void keep(uint8_t *bytes, size_t size)
{
    *(size_t *)(void *)bytes = size;
    for (unsigned i = 0; i < PREPARED_KEPT && size <= PREPARED_LARGEST; i++) {
        uint8_t *none = NULL;
        if (atomic_compare_exchange_strong(&kept[i], &none, bytes))
            return;
    }
    unmap(bytes, size);
}

static uint8_t *take_kept(size_t size)
{
    for (unsigned i = 0; i < PREPARED_KEPT; i++) {
        uint8_t *bytes = atomic_exchange(&kept[i], NULL);
        if (bytes && size_of(bytes) >= size)
            return bytes;
        if (bytes)
            keep(bytes, size_of(bytes));
    }
    return NULL;
}

bool prepared_take(struct prepared *memory, size_t size)
{
    vm_address_t address = 0;
    uint8_t *bytes = take_kept(size);
    if (!bytes) {
        size = size < SMALLEST ? SMALLEST : (size + SMALLEST - 1) / SMALLEST * SMALLEST;
        if (vm_allocate(mach_task_self(), &address, size, VM_FLAGS_ANYWHERE) != KERN_SUCCESS)
            return false;
        bytes = (uint8_t *)address;
        *(size_t *)(void *)bytes = size;
    }
    *memory = (struct prepared){.bytes = bytes, .size = size_of(bytes)};
    for (size_t at = sizeof(size_t); at < size; at += TOUCHED)
        *(volatile uint8_t *)(bytes + at) = 0;
    return true;
}

void prepared_give(struct prepared *memory)
{
    if (memory->bytes)
        keep(memory->bytes, memory->size);
    *memory = (struct prepared){NULL, 0, 0};
}

void *prepared_part(struct prepared *memory, size_t size)
{
    uint8_t *part = memory->bytes + memory->used;
    memory->used += (size + PREPARED_ALIGN - 1) & ~(size_t)(PREPARED_ALIGN - 1);
    return part;
}
