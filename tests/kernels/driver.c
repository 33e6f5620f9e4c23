/* Repeats recorded calls of a library of kernels on Windows, and compares the results and all memory byte by byte.

The file named by the environment variable CALLS contains, in 8-byte words: the number of blocks; for each block its
size and its bytes, padded to whole words; the number of calls; for each call the function's name (32 bytes), whether it
has a result, the result, the number of arguments, and for each argument whether it is a block, its value or block, and
the block that it must become. LIBRARY names the library. The program needs no C library. */

#include <stdint.h>

#define IMPORT __declspec(dllimport)
typedef int64_t (*function)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);

IMPORT void *LoadLibraryA(const char *);
IMPORT void *GetProcAddress(void *, const char *);
IMPORT void *CreateFileA(const char *, uint32_t, uint32_t, void *, uint32_t, uint32_t, void *);
IMPORT int GetFileSizeEx(void *, int64_t *);
IMPORT int ReadFile(void *, void *, uint32_t, uint32_t *, void *);
IMPORT int WriteFile(void *, const void *, uint32_t, uint32_t *, void *);
IMPORT void *VirtualAlloc(void *, uint64_t, uint32_t, uint32_t);
IMPORT int VirtualFree(void *, uint64_t, uint32_t);
IMPORT void *GetStdHandle(uint32_t);
IMPORT uint32_t GetEnvironmentVariableA(const char *, char *, uint32_t);
IMPORT void ExitProcess(uint32_t);

static void say(const char *text) {
    uint32_t length = 0, written;
    while (text[length]) length++;
    WriteFile(GetStdHandle(-11), text, length, &written, 0);
}

static void say_number(const char *what, int64_t number) {
    char digits[24];
    int at = 23;
    digits[at] = 0;
    do digits[--at] = '0' + number % 10; while (number /= 10);
    say(what);
    say(digits + at);
}

static void fail(const char *text) {
    say(text);
    ExitProcess(2);
}

static void *memory(uint64_t size) {
    void *found = VirtualAlloc(0, size + 64, 0x3000, 4);
    if (!found) fail("no memory\n");
    return found;
}

static int64_t *blocks[100000];
static int64_t sizes[100000];

void wWinMainCRTStartup(void) {
    static char calls[1000], library[1000];
    GetEnvironmentVariableA("CALLS", calls, sizeof calls);
    GetEnvironmentVariableA("LIBRARY", library, sizeof library);
    void *code = LoadLibraryA(library);
    if (!code) fail("the library cannot be loaded\n");
    int (*runs_here)(void) = (int (*)(void))GetProcAddress(code, "secateur_runs_here");
    if (!runs_here || !runs_here()) fail("the library does not run here\n");
    void *file = CreateFileA(calls, 0x80000000, 1, 0, 3, 0, 0);
    int64_t size, offset = 0;
    uint32_t got;
    if (!GetFileSizeEx(file, &size)) fail("no file of calls\n");
    char *data = memory(size + (1 << 20));
    for (; offset < size; offset += got)
        if (!ReadFile(file, data + offset, 1 << 20, &got, 0) || !got) fail("the file of calls cannot be read\n");
    int64_t *at = (int64_t *)data, count = *at++;
    for (int64_t i = 0; i < count; i++) {
        sizes[i] = *at++;
        blocks[i] = at;
        at += (sizes[i] + 7) / 8;
    }
    int64_t number = *at++, wrong = 0;
    for (int64_t i = 0; i < number; i++) {
        function kernel = (function)GetProcAddress(code, (char *)at);
        if (!kernel) fail("a function is missing\n");
        at += 4;
        int64_t has_result = *at++, expected = *at++, length = *at++, values[10] = {0}, *places = at;
        if (length > 10) fail("too many arguments\n");
        for (int64_t one = 0; one < length; one++) {
            int64_t is_block = places[3 * one], value = places[3 * one + 1];
            values[one] = value;
            if (is_block) {
                char *copy = memory(sizes[value]);
                for (int64_t word = 0; word < (sizes[value] + 7) / 8; word++) ((int64_t *)copy)[word] = blocks[value][word];
                values[one] = (int64_t)copy;
            }
        }
        int64_t found = kernel(values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7],
                               values[8], values[9]);
        int64_t differs = has_result && found != expected;
        for (int64_t one = 0; one < length; one++) {
            if (!places[3 * one]) continue;
            char *is = (char *)values[one], *must = (char *)blocks[places[3 * one + 2]];
            for (int64_t byte = 0; byte < sizes[places[3 * one + 1]]; byte++) differs |= is[byte] != must[byte];
            VirtualFree(is, 0, 0x8000);
        }
        if (differs && !wrong) say_number("the first wrong call is ", i);
        wrong += differs;
        at += 3 * length;
    }
    say_number("\ncalls ", number);
    say_number(" wrong ", wrong);
    say("\n");
    ExitProcess(wrong != 0);
}
