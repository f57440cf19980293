/* language.c - the cause of an error in words and rules that C, C++ or CUDA have and OpenCL C has not. */
#include "program/explain.h"

#include <string.h>

/* ---- words of other languages ---- */

#define CUDA "is a word of CUDA: write "
#define NO_FUNCTION "is a function that OpenCL C lacks: "
#define GLSL "is a word of GLSL: write "
#define STDINT "is a type of C's stdint.h, which kernels lack: write "
#define CPP "is a word of C++, and kernels are OpenCL C, which resembles C99: "
#define ATOMIC(name) CUDA "ndr_atomic_" name "() and #include \"ndr/atomic.clh\""
#define ID(plain, ours) \
    CUDA plain "(0), or " ours "(it, 0) of an item that NDR_ND_ITEM made, for x, and 1 or 2 for y or z"
#define SHUFFLE "ndr_shift_group_left() or another function of ndr/sub_group.clh"
#define NO_HEAP "take a buffer as a parameter, or an array of constant size"
#define BY_LOOP "copy or set the elements in a loop"

/* An error about an unknown word. The sentence is the word and what follows it. */
static const struct {
    const char *word, *sentence;
} foreign[] = {
    { "__syncthreads", CUDA "ndr_group_barrier(ndr_get_group(it)) (ndr/nd_item.clh), or barrier(CLK_LOCAL_MEM_FENCE)" },
    { "threadIdx", ID("get_local_id", "ndr_local_id") },
    { "blockIdx", ID("get_group_id", "ndr_group_id") },
    { "blockDim", ID("get_local_size", "ndr_local_range") },
    { "gridDim", ID("get_num_groups", "ndr_group_range") },
    { "atomicAdd", ATOMIC("fetch_add") },
    { "atomicSub", ATOMIC("fetch_sub") },
    { "atomicMin", ATOMIC("fetch_min") },
    { "atomicMax", ATOMIC("fetch_max") },
    { "atomicExch", ATOMIC("exchange") },
    { "atomicCAS", ATOMIC("compare_exchange") },
    { "__global__", CUDA "kernel, and global in front of each pointer: kernel void f(global float *x)" },
    { "__device__", "is a word of CUDA: leave it out, because any function without `kernel` is one" },
    { "__host__", "is a word of CUDA: leave it out, because kernels' texts have no functions of the host" },
    { "__shared__", CUDA "local, as in local float t[64], in the kernel's body" },
    { "__constant__", CUDA "constant" },
    { "__forceinline__", CUDA "inline" },
    { "__ldg", "is a word of CUDA: read x[i] itself, and declare the parameter global const float *restrict x" },
    { "warpSize", CUDA "get_max_sub_group_size(), or #include \"ndr/sub_group.clh\"" },
    { "__syncwarp", CUDA "ndr_group_barrier(ndr_get_sub_group(it)) and #include \"ndr/sub_group.clh\"" },
    { "__shfl_sync", CUDA SHUFFLE },
    { "__shfl_up_sync", CUDA SHUFFLE },
    { "__shfl_down_sync", CUDA SHUFFLE },
    { "__shfl_xor_sync", CUDA SHUFFLE },
    { "make_float2", CUDA "(float2)(a, b)" },
    { "make_float3", CUDA "(float3)(a, b, c)" },
    { "make_float4", CUDA "(float4)(a, b, c, d)" },
    { "make_int4", CUDA "(int4)(a, b, c, d)" },
    { "__expf", CUDA "native_exp" },
    { "__logf", CUDA "native_log" },
    { "__sinf", CUDA "native_sin" },
    { "__cosf", CUDA "native_cos" },
    { "__fdividef", CUDA "native_divide" },
    { "malloc", NO_FUNCTION NO_HEAP },
    { "calloc", NO_FUNCTION NO_HEAP },
    { "free", NO_FUNCTION NO_HEAP },
    { "memcpy", NO_FUNCTION BY_LOOP },
    { "memset", NO_FUNCTION BY_LOOP },
    { "fprintf", NO_FUNCTION "write printf(), which has no stream" },
    { "puts", NO_FUNCTION "write printf()" },
    { "assert", NO_FUNCTION "store a code in a buffer that the host reads, or write printf()" },
    { "exit", NO_FUNCTION "end the work-item with return, and store a code in a buffer that the host reads" },
    { "abort", NO_FUNCTION "end the work-item with return, and store a code in a buffer that the host reads" },
    { "clock", NO_FUNCTION "measure on the host, with ndr_event_elapsed_ns()" },
    { "time", NO_FUNCTION "measure on the host, with ndr_event_elapsed_ns()" },
    { "int8_t", STDINT "char" },
    { "uint8_t", STDINT "uchar" },
    { "int16_t", STDINT "short" },
    { "uint16_t", STDINT "ushort" },
    { "int32_t", STDINT "int" },
    { "uint32_t", STDINT "uint" },
    { "int64_t", STDINT "long" },
    { "uint64_t", STDINT "ulong" },
    { "template", CPP "write one function for each type, or put the type in a macro (-DT=float in the options)" },
    { "class", CPP "write a typedef of a struct, and functions that take it" },
    { "new", CPP NO_HEAP },
    { "throw", CPP "store a code in a buffer that the host reads" },
    { "nullptr", CPP "write 0, or NULL" },
    { "std", CPP "leave out std::, and call OpenCL's own min(), sqrt() and so on, with an array in place of std::vector" },
    { "sycl", CPP "leave it out; an item is ndr_item it = NDR_ITEM(1) (ndr/item.clh)" },
    { "using", CPP "leave the line out" },
    { "namespace", CPP "leave the line out, and begin the names with a prefix" },
    { "static_cast", CPP "write (float)n" },
    { "reinterpret_cast", CPP "write as_float(n) for the same bits, or cast a pointer: (global int *)p" },
    { "constexpr", CPP "write constant for a variable outside of a function, and const for one inside" },
    { "string", CPP "take text as a buffer of char" },
    { "foreach", "is not a word of C: write for (int i = 0; i < n; ++i)" },
    { "def", "is a word of Python: write a kernel in C, kernel void f(global float *x) { x[get_global_id(0)] = 1; }" },
    { "vec2", GLSL "float2" },
    { "vec3", GLSL "float3" },
    { "vec4", GLSL "float4" },
    { "gl_GlobalInvocationID", GLSL "get_global_id(0), or ndr_global_id(it, 0), for x" },
    { "PI", "is not a name of OpenCL C: write M_PI_F, or M_PI for a double" },
    { "INT32_MAX", "is not a name of OpenCL C: write INT_MAX" },
};

/* C's functions of float. Without the f they are OpenCL C's, for float, double and vectors. */
static const char *const of_float[] = { "acosf",  "asinf",  "atanf", "atan2f", "cbrtf", "ceilf", "cosf",   "coshf",
                                        "exp2f",  "expf",   "fabsf", "floorf", "fmaf",  "fmaxf", "fminf",  "fmodf",
                                        "hypotf", "log10f", "log2f", "logf",   "powf",  "rintf", "roundf", "rsqrtf",
                                        "sinf",   "sinhf",  "sqrtf", "tanf",   "tanhf", "truncf" };

/* Whether an error is about a word that the compiler does not know, in the words of several compilers. */
static bool is_unknown(const char *line, const char *end)
{
    static const char *const words[] = { "undeclared", "unknown",    "undefined",  "implicit",
                                         "extern",     "Unresolved", "unresolved", "Cannot take address" };
    for (size_t i = 0; i < NDR_COUNT_OF(words); ++i)
        if (ndr_explain_has(line, end, words[i])) return true;
    return false;
}

/* "unknown type name 'gloabl'": a word of OpenCL C that is misspelt. */
static bool add_misspelt(const char *line, const char *end, ndr_text *out)
{
    static const char before[] = "unknown type name '";
    static const char *const words[] = { "global", "local", "constant", "kernel", "float",  "double",   "uchar",
                                         "ushort", "uint",  "ulong",    "float2", "float4", "unsigned", "struct" };
    const char *name = strstr(line, before);
    if (!name || name >= end) return false;
    name += strlen(before);
    char word[32] = "";
    const size_t length = ndr_word_length(name);
    if (length < 4 || length >= sizeof word) return false;
    memcpy(word, name, length);
    for (size_t i = 0; i < NDR_COUNT_OF(words); ++i) {
        if (ndr_text_distance(word, words[i]) > (length > 4 ? 2 : 1)) continue;
        ndr_text_add(out, "%s is not a word of OpenCL C: write %s", word, words[i]);
        return true;
    }
    return false;
}

bool ndr_explain_word(const char *line, const char *end, ndr_text *out)
{
    if (!is_unknown(line, end)) return false;
    for (size_t i = 0; i < NDR_COUNT_OF(foreign); ++i)
        if (ndr_explain_has(line, end, foreign[i].word)) {
            ndr_text_add(out, "%s %s", foreign[i].word, foreign[i].sentence);
            return true;
        }
    for (size_t i = 0; i < NDR_COUNT_OF(of_float); ++i)
        if (ndr_explain_has(line, end, of_float[i])) {
            ndr_text_add(out, "%s " NO_FUNCTION "write %.*s(), which takes float, double and their vectors",
                         of_float[i], (int)strlen(of_float[i]) - 1, of_float[i]);
            return true;
        }
    return add_misspelt(line, end, out);
}

/* ---- rules of the language ---- */

#define CONSTANT                                                                                                     \
    "a variable outside of a function, or a static one, is constant: write constant in front of it and give it its " \
    "value there; what changes goes in a buffer, or in local memory declared in the kernel"
#define ONE_TYPE                                                                                                     \
    "no form of a built-in function takes just these arguments: cast them to one type, as in min(a, (float)n), and " \
    "compare their number with the function's; abs() takes integers, fabs() takes floats"
#define CALLED                                                                                                      \
    "a function is called with another number of arguments than it has: write, for example, get_global_id(0) with " \
    "the dimension, "                                                                                               \
    "ndr_global_id(it, 0) with the item and the dimension, barrier(CLK_LOCAL_MEM_FENCE) with the fence"
#define ONLY_ATOMICS                                                                                                 \
    "OpenCL C's own atomic functions do not take this type, such as float: write ndr_atomic_fetch_add(&x[0], 1.0f) " \
    "and "                                                                                                           \
    "#include \"ndr/atomic.clh\""
#define MEMBERS                                                                                                   \
    "items and groups have no member functions: write ndr_global_id(it, 0) in place of it.get_global_id(0), and " \
    "ndr_group_barrier(ndr_get_group(it)) in place of it.barrier()"
#define READ_ONLY "this may only be read: leave out const where it is declared, or write to another variable"
#define NO_POINTERS "OpenCL C has no pointers to functions: choose with if or switch, or with a macro of the options"

#define NAME                                                                                                         \
    "a name cannot stand at the place that the log names: leave out extern \"C\" and other words of C++, and give what " \
    "is called like a word of OpenCL C, such as kernel, global or half, another name"

#define NOT_DECLARED                                                                                                \
    "a name is not declared where the log says: correct it, declare it above that line, or #include the file that " \
    "declares it"

#define OPERANDS                                                                                                    \
    "an operator does not take these types: of floats, write fmod(a, b) for a % b, and pow(a, b) or a * a for a "   \
    "power, because ^, &, |, << and >> take integers; of a pointer, take an element, as in x[i] * a; of a struct, " \
    "a member"

/* The cause of an error with these words. */
static const struct {
    const char *words[2];
    const char *sentence;
} rules[] = {
    { { "undeclared identifier", "expression:" },
      "an expression names the scalars and arrays of the call, i, i0 to i2 as far as there are dimensions, and what "
      "declarations declares: correct the name, or pass a scalar or an array of that name" },
    { { "undeclared identifier", "combine:" },
      "combine names its two values, a and b, and what declarations declares: correct the name; what depends on scalars, "
      "arrays or the index belongs in expression" },
    { { "undeclared identifier", "identity:" },
      "identity is one value for all calls, such as 0, and names only what declarations declares: correct the name" },
    { { "undeclared identifier", "finish:" },
      "finish names the combined value, r, the scalars of the call, and what declarations declares: correct the name, or "
      "pass a scalar of that name; what depends on arrays or the index belongs in expression" },
    { { "undeclared identifier", "epilogue:" },
      "an epilogue names r, row, col, product, the scalars and inputs of the call, and what declarations declares: correct "
      "the name, or pass a scalar or an array of that name" },
    { { "subscripted value", "expression:" },
      "in an expression the name of an array is its element at the index: write x in place of x[i]" },
    { { "const-qualified", "expression:" },
      "scalars, inputs and indexes may only be read: pass the array as an output, too, which may have the same name" },
    { { "undeclared identifier", "less:" },
      "less compares a and b: write a < b, or call a function that declarations defines, as in before(a, b)" },
    { { "pointer to a pointer" },
      "a kernel cannot take a pointer to pointers: pass one buffer, and offsets of its parts in a second one" },
    { { "kernel functions", "address space" },
      "a kernel's pointer has no address space: write global in front of its type, as in global float *x, or constant "
      "or local; a pointer to pointers cannot be passed: pass one buffer, and offsets of its parts in a second one" },
    { { "variable length arrays" },
      "an array in a kernel has a constant size: write -DN=64 in the options and float t[N], or take a parameter "
      "local float *t, for which the host passes ndr_local(float, n)" },
    { { "non-kernel function", "local" },
      "local memory is declared in a kernel only: declare it there, and pass local float *t to the function" },
    { { "local", "initializer" },
      "a local variable has no value at the start: declare it without one, let one work-item assign it, and call "
      "barrier(CLK_LOCAL_MEM_FENCE)" },
    { { "__local", "initializer" },
      "a local variable has no value at the start: declare it without one, let one work-item assign it, and call "
      "barrier(CLK_LOCAL_MEM_FENCE)" },
    { { "pointers to functions" }, NO_POINTERS },
    { { "address of function" }, NO_POINTERS },
    { { "must reside in", "static" }, CONSTANT },
    { { "function scope", "declared static" }, CONSTANT },
    { { "must reside in", "program scope" }, CONSTANT },
    { { "cannot be declared static" }, CONSTANT },
    { { "void return type" },
      "a kernel returns nothing: write kernel void, and store the result in a buffer that is a parameter" },
    { { "multiple address spaces" }, "a type has one address space: leave one of global, local and constant out" },
    { { "changes address space" },
      "a pointer keeps the address space of what it points to: declare it with the same word (global, local or "
      "constant), or copy the elements from one to the other" },
    { { "atomic_add", "ambiguous" }, ONLY_ATOMICS },
    { { "_cl_atomic_add", "ambiguous" }, ONLY_ATOMICS },
    { { "ambiguous" }, ONE_TYPE },
    { { "no matching function" }, ONE_TYPE },
    { { "too few arguments" }, CALLED },
    { { "too many arguments" }, CALLED },
    { { "no member", "ndr_item" }, MEMBERS },
    { { "no member", "ndr_nd_item" }, MEMBERS },
    { { "no member", "ndr_group" }, MEMBERS },
    { { "'auto'" }, "auto does not give a variable its type here: write the type, as in size_t i" },
    { { "read-only" }, READ_ONLY },
    { { "const-qualified" }, READ_ONLY },
    { { "restrict requires" }, "restrict belongs behind the star: write global float *restrict x" },
    { { "subscripted value" },
      "only pointers and arrays take [ ]: read an image with read_imagef(image, sampler, (int2)(x, y)), and a "
      "component of a vector with v.x or v.s0" },
    { { "type name", "expected expression" },
      "a vector is put together with its type in parentheses: write "
      "(float4)(a, b, c, d)" },
    { { "must use", "tag" }, "in C a struct's name follows the word struct: write struct point p, or a typedef" },
    { { "cl_khr_fp64" },
      "the device has no double: write float, 1.0f in place of 1.0, or choose a device with ndr_device_info.has_fp64" },
    { { "type specifier missing" },
      "a parameter or variable has no type: write it in front of the name; NDR_RANGE, NDR_ND_RANGE and NDR_REDUCTION "
      "need their dimensions, as in NDR_RANGE(1)" },
    { { "may not contain pointers" },
      "a struct that is a parameter has no pointers: pass each buffer as a parameter of its own" },
    { { "kernel parameter" },
      "a kernel cannot take this type: pass numbers, vectors, buffers, or structs of these, with ulong in place of "
      "size_t and int in place of bool" },
    { { "expected ';'", "'for' statement" }, "a for loop has three parts in C: write for (int i = 0; i < n; ++i)" },
    { { "invalid operands" }, OPERANDS },
    { { "vector component access exceeds" },
      "the vector has fewer components: .x, .y, .z and .w are the first four, .s0 to .sf up to 16; use one that it "
      "has, "
      "or declare a longer vector" },
    { { "unterminated /* comment" }, "a comment has no end: add */" },
    { { "invalid preprocessing directive" },
      "a line that begins with # is a directive such as #include or #define: begin a comment with //" },
    { { "is a keyword" }, NAME },
    { { "expected identifier" }, NAME },
    { { "cannot combine with previous" },
      "two types stand side by side: leave one out, and give a variable that is called like a type, such as half or "
      "uint, another name" },
    { { "kernel cannot be called" }, "a kernel is not called main: choose another name" },
    { { "default arguments" },
      "C has no default arguments: pass each argument, or write a second function with another name" },
    { { "variadic arguments" }, "functions of OpenCL C take a fixed number of arguments: pass an array and its length" },
    { { "compile-time constant" },
      "a constant has a value that the compiler knows: write a number or a macro, and compute what depends on the item "
      "or the device in the kernel" },
    { { "expected ';'", "declaration list" },
      "a ; is missing behind a member of a struct, or the struct has a function, which C does not have: add the ;, or "
      "write the function outside of the struct, which it then takes" },
    { { "expected ']'" }, "[ ] takes one index: close it, and write a loop in place of a slice such as x[0:4]" },
    { { "expected ')'" },
      "a ( is not closed, or a comma or an operator is missing, in front of the place that the log names: add it; in "
      "place of a reference, int &a, take a pointer" },
    { { "expected ';'" }, "a ; is missing in front of the place that the log names: add it" },
    { { "expected '}'" }, "a { is not closed: add the } that belongs to it" },
    { { "expected expression" },
      "there is no expression of C at the place that the log names: OpenCL C has no templates, std:: or lambdas; write "
      "max(a, b) in place of max<float>(a, b), and an array in place of std::vector" },
    { { "undeclared identifier" }, NOT_DECLARED },
    { { "implicit declaration" }, NOT_DECLARED },
};

bool ndr_explain_rule(const char *line, const char *end, ndr_text *out)
{
    for (size_t i = 0; i < NDR_COUNT_OF(rules); ++i)
        if (ndr_explain_has(line, end, rules[i].words[0])
            && (!rules[i].words[1] || ndr_explain_has(line, end, rules[i].words[1]))) {
            ndr_text_add(out, "%s", rules[i].sentence);
            return true;
        }
    return false;
}

/* ---- headers of the host ---- */

bool ndr_explain_host_header(const char *absent, const char *line, const char *end, ndr_text *out)
{
    static const char *const headers[] = { "stdio.h",  "stdlib.h",  "math.h",   "string.h",       "stdint.h",
                                           "stddef.h", "stdbool.h", "assert.h", "cuda_runtime.h", "CL/cl.h" };
    const char *system = strstr(line, "/usr/include/"), *missing = strstr(line, "not found");
    if (!(system && system < end) && !(missing && missing < end)) return false;
    for (size_t i = 0; i < NDR_COUNT_OF(headers); ++i) {
        char quoted[32] = "'";
        strcat(strcat(quoted, headers[i]), "'");
        const char *here = strstr(line, quoted);
        if (!strstr(absent, quoted) || !((here && here < end) || system)) continue;
        ndr_text_add(
            out,
            "%s is a header of the host: leave it out; a kernel has OpenCL C's own types and functions, such as "
            "uint, sqrt() and printf(), without any header",
            headers[i]);
        return true;
    }
    return false;
}
