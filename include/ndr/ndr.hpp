/** @file ndr.hpp
 * libndr in C++17: owning handles, spans, launches and transfers whose types the compiler checks. Header only.
 *
 * The rules of ndr.h hold, and each function here calls the one of the same name there, whose comment has its limits
 * and errors. What differs:
 *
 *   Results   A call that can fail returns ndr::result<T>, which the compiler wants to be used: test it, then read the
 *             value by `*`. error() has the status and the sentence, as a copy. NDR_LET() and NDR_DO() return an error
 *             to the caller. With NDR_CXX_EXCEPTIONS defined before the include, result<T> is T itself, and a call that
 *             fails throws ndr::error.
 *   Owning    Handles are move-only and destroy what they own. get() is the C handle, for calls of ndr.h and ndr_cl.h;
 *             the constructor from a C handle takes it over. An ndr::kernel is not owned: it lasts as its context does.
 *   Units     Buffers and shared allocations have an element type: offsets and counts are elements of it. Names that
 *             end in _bytes count bytes.
 *   Bounds    Host memory is a span, such as a std::vector, and a transfer stays inside of it.
 *   Events    The last parameter of a command, `done`, gets its event. With NULL a transfer returns when it has ended.
 *
 * It needs neither exceptions nor RTTI. Translation units with and without NDR_CXX_EXCEPTIONS can be linked. */
#ifndef NDR_NDR_HPP
#define NDR_NDR_HPP

#include "ndr/ndr.h"
#include "ndr/ndr_group.h"
#include "ndr/ndr_image.h"
#include "ndr/ndr_ops.h"
#include "ndr/ndr_shared.h"

#include <array>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

#ifdef NDR_CXX_EXCEPTIONS
/** `name` is the value of an expression that returns an ndr::result. */
#define NDR_LET(name, ...) auto &&name = (__VA_ARGS__)
/** Evaluate an expression that returns an ndr::result<void>. */
#define NDR_DO(...) (__VA_ARGS__)
#else
/** `name` is the value of an expression that returns an ndr::result; if that is an error, return it to the caller. */
#define NDR_LET(name, ...)                                         \
    auto name##_result_ = (__VA_ARGS__);                           \
    if (!name##_result_) return std::move(name##_result_).error(); \
    auto &name = *name##_result_
/** Evaluate an expression that returns an ndr::result<void>; if it is an error, return it to the caller. */
#define NDR_DO(...)                                                \
    do {                                                           \
        auto done_result_ = (__VA_ARGS__);                         \
        if (!done_result_) return std::move(done_result_).error(); \
    } while (0)
#endif

namespace ndr
{
#ifdef NDR_CXX_EXCEPTIONS
inline namespace throwing
{
#else
inline namespace checked
{
#endif

/* ---- results ------------------------------------------------------------------------------------- */

/** Why a call failed: a copy of what the library said. */
class error : public std::exception
{
  public:
    error(ndr_status status, std::string sentence) : status_(status), sentence_(std::move(sentence)) {}

    /** The failure of the latest failed call on this thread. */
    static error last(ndr_status status)
    {
        error made(status, ndr_last_error());
        made.cl_error_ = ndr_last_cl_error();
        made.build_log_ = ndr_last_build_log();
        return made;
    }

    ndr_status status() const noexcept { return status_; }
    const char *status_name() const noexcept { return ndr_status_name(status_); }
    const char *what() const noexcept override { return sentence_.c_str(); } /**< The sentence. */
    int32_t cl_error() const noexcept { return cl_error_; }                  /**< As ndr_last_cl_error(). */
    const std::string &build_log() const noexcept { return build_log_; }     /**< As ndr_last_build_log(). */

  private:
    ndr_status status_;
    int32_t cl_error_ = 0;
    std::string sentence_, build_log_;
};

/** A value, or the error that prevented it. `*`, `->` and error() need the right one of the two. */
template <class T> class [[nodiscard]] outcome
{
  public:
    outcome(T value) : value_(std::move(value)) {}
    outcome(ndr::error why) : error_(std::move(why)) {}

    explicit operator bool() const noexcept { return value_.has_value(); }
    ndr_status status() const noexcept { return error_ ? error_->status() : NDR_OK; }
    T &operator*() & { return assert(value_), *value_; }
    const T &operator*() const & { return assert(value_), *value_; }
    T &&operator*() && { return assert(value_), std::move(*value_); }
    T *operator->() { return assert(value_), &*value_; }
    const T *operator->() const { return assert(value_), &*value_; }
    const ndr::error &error() const & { return assert(error_), *error_; }
    ndr::error &&error() && { return assert(error_), std::move(*error_); }

  private:
    std::optional<T> value_;
    std::optional<ndr::error> error_;
};

/** Success, or an error. */
template <> class [[nodiscard]] outcome<void>
{
  public:
    outcome() = default;
    outcome(ndr::error why) : error_(std::move(why)) {}

    explicit operator bool() const noexcept { return !error_; }
    ndr_status status() const noexcept { return error_ ? error_->status() : NDR_OK; }
    const ndr::error &error() const & { return assert(error_), *error_; }
    ndr::error &&error() && { return assert(error_), std::move(*error_); }

  private:
    std::optional<ndr::error> error_;
};

#ifdef NDR_CXX_EXCEPTIONS
template <class T> using result = T; /**< The value: a call that fails throws ndr::error. */
#else
template <class T> using result = outcome<T>; /**< What a call returns that can fail. */
#endif

/** Success, as what a function returns that itself returns result<void>. */
inline result<void> ok() { return result<void>(); }

namespace detail
{

template <class T> result<T> fail(error why)
{
#ifdef NDR_CXX_EXCEPTIONS
    throw why;
#else
    return why;
#endif
}

inline result<void> done(ndr_status status) { return status == NDR_OK ? ok() : fail<void>(error::last(status)); }

template <class T> result<T> made(ndr_status status, T &&value)
{
    if (status != NDR_OK) return fail<T>(error::last(status));
    return std::forward<T>(value);
}

/* `call` takes a capacity, a text and a length, as ndr_kernel_get_log(). */
template <class Call> result<std::string> read_text(const Call &call)
{
    size_t length = 0;
    ndr_status status = call(0, nullptr, &length);
    std::string text(length + 1, '\0');
    if (status == NDR_OK) status = call(text.size(), text.data(), nullptr);
    text.resize(length);
    return made(status, std::move(text));
}

/* SIZE_MAX, which no memory has, if the result is larger. */
constexpr size_t product(size_t a, size_t b) { return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b; }
constexpr size_t sum(size_t a, size_t b) { return a > SIZE_MAX - b ? SIZE_MAX : a + b; }

inline error outside(const char *what, size_t needed, size_t given)
{
    return error(NDR_OUT_OF_BOUNDS, std::string(what) + " uses " + std::to_string(needed)
                                        + " bytes of the host's memory, but its span has " + std::to_string(given)
                                        + "; pass a span of the elements that are transferred");
}

/* A parameter of this type takes no part in the deduction of T, so that a std::vector converts to a span. */
template <class T> struct identity {
    using type = T;
};
template <class T> using plain = typename identity<T>::type;

/* Owns a C object. */
template <class Raw, void (*Destroy)(Raw *)> class [[nodiscard]] handle
{
  public:
    handle() noexcept = default;
    explicit handle(Raw *raw) noexcept : raw_(raw) {}
    handle(handle &&other) noexcept : raw_(other.release()) {}
    handle &operator=(handle &&other) noexcept { return reset(other.release()), *this; }
    ~handle() { Destroy(raw_); }

    /** The C handle, which stays owned here. */
    Raw *get() const noexcept { return raw_; }
    /** The C handle, which the caller owns from now on. */
    Raw *release() noexcept { return std::exchange(raw_, nullptr); }
    /** Destroy what is owned, and own `raw` instead. */
    void reset(Raw *raw = nullptr) noexcept { Destroy(std::exchange(raw_, raw)); }
    explicit operator bool() const noexcept { return raw_ != nullptr; }

  private:
    Raw *raw_ = nullptr;
};

/* Types that a launch takes have arg(). */
template <class T, class = void> struct has_arg : std::false_type {
};
template <class T> struct has_arg<T, std::void_t<decltype(std::declval<const T &>().arg())>> : std::true_type {
};

} /* namespace detail */

/* ---- spans and texts ----------------------------------------------------------------------------- */

#ifdef __cpp_lib_span
template <class T> using span = std::span<T>; /**< Elements that are next to each other in the host's memory. */
#else
/** Elements that are next to each other in the host's memory; std::span from C++20 on. */
template <class T> class span
{
  public:
    constexpr span() noexcept = default;
    constexpr span(T *data, size_t size) noexcept : data_(data), size_(size) {}
    template <size_t N> constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    /** Of a container that has data() and size(). */
    template <class Container, class = std::enable_if_t<std::is_convertible_v<
                                   std::remove_pointer_t<decltype(std::declval<Container &>().data())> (*)[], T (*)[]>>>
    constexpr span(Container &&container) noexcept : data_(container.data()), size_(container.size())
    {
    }

    constexpr T *data() const noexcept { return data_; }
    constexpr size_t size() const noexcept { return size_; }
    constexpr size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T &operator[](size_t i) const noexcept { return data_[i]; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr span subspan(size_t first, size_t count) const noexcept { return span(data_ + first, count); }

  private:
    T *data_ = nullptr;
    size_t size_ = 0;
};
#endif

/** A text that ends in 0, read during the call: a literal or a std::string; NULL if absent. */
class text
{
  public:
    text(const char *chars = nullptr) noexcept : chars_(chars) {}
    text(const std::string &string) noexcept : chars_(string.c_str()) {}
    const char *get() const noexcept { return chars_; }

  private:
    const char *chars_;
};

/* ---- version, logging, tracing, element types, devices ------------------------------------------- */

/** The version of the library that runs. */
inline const char *version() { return ndr_version(); }

/** Choose what is logged in this process, and where. */
inline result<void> log_set(ndr_log_level level, ndr_log_callback *callback = nullptr, void *user = nullptr)
{
    return detail::done(ndr_log_set(level, callback, user));
}

/** Start a trace. */
inline result<void> trace_start(const ndr_trace_desc &desc) { return detail::done(ndr_trace_start(&desc)); }

/** A region of the calling thread in a trace, for as long as this object lives. */
class [[nodiscard]] trace_region
{
  public:
    explicit trace_region(text label, uint64_t bytes = 0, uint64_t flops = 0)
    {
        ndr_trace_begin(label.get(), bytes, flops);
    }
    trace_region(const trace_region &) = delete;
    trace_region &operator=(const trace_region &) = delete;
    ~trace_region() { ndr_trace_end(); }
};

/** The element type of a host's number; NDR_DTYPE_NONE for any other type. */
template <class T> inline constexpr ndr_dtype dtype_of = ::ndr_dtype_of_(::ndr_type_<T>());

inline const char *name(ndr_dtype dtype) { return ndr_dtype_name(dtype); }           /**< "f32" and so on. */
inline size_t size_bytes(ndr_dtype dtype) { return ndr_dtype_size(dtype); }          /**< Of one element. */
inline uint16_t f16_from_float(float x) { return ndr_f16_from_float(x); }            /**< The nearest f16's bits. */
inline float f16_to_float(uint16_t bits) { return ndr_f16_to_float(bits); }          /**< The value of an f16. */
inline uint16_t bf16_from_float(float x) { return ndr_bf16_from_float(x); }          /**< The nearest bf16's bits. */
inline float bf16_to_float(uint16_t bits) { return ndr_bf16_to_float(bits); }        /**< The value of a bf16. */
inline const char *name(ndr_device_type type) { return ndr_device_type_name(type); } /**< "gpu" and so on. */

/** Floats as elements of F16 or BF16. */
inline result<std::vector<uint16_t>> narrow_floats(ndr_dtype dtype, const std::vector<float> &floats)
{
    std::vector<uint16_t> bits(floats.size());
    const ndr_status status = ndr_narrow_floats(dtype, floats.size(), floats.data(), bits.data());
    return detail::made(status, std::move(bits));
}

/** Elements of F16 or BF16 as floats. */
inline result<std::vector<float>> widen_floats(ndr_dtype dtype, const std::vector<uint16_t> &bits)
{
    std::vector<float> floats(bits.size());
    const ndr_status status = ndr_widen_floats(dtype, bits.size(), bits.data(), floats.data());
    return detail::made(status, std::move(floats));
}

/** The devices of every driver. */
inline result<std::vector<ndr_device_info>> devices()
{
    size_t count = 0;
    ndr_status status = ndr_device_list(0, nullptr, &count);
    std::vector<ndr_device_info> all(count);
    if (status == NDR_OK) status = ndr_device_list(all.size(), all.data(), &count);
    if (count < all.size()) all.resize(count);
    return detail::made(status, std::move(all));
}

/* ---- contexts ------------------------------------------------------------------------------------ */

/** One device, and the kernels built for it. */
class context : public detail::handle<ndr_context, ndr_context_destroy>
{
  public:
    using handle::handle;

    /** Open a device: NULL, a type, an index or part of a name. */
    static result<context> create(text device = nullptr)
    {
        ndr_context *raw = nullptr;
        const ndr_status status = ndr_context_create(device.get(), &raw);
        return detail::made(status, context(raw));
    }

    static result<context> create(const ndr_context_desc &desc)
    {
        ndr_context *raw = nullptr;
        const ndr_status status = ndr_context_create_with(&desc, &raw);
        return detail::made(status, context(raw));
    }

    result<ndr_device_info> device() const
    {
        ndr_device_info info{};
        const ndr_status status = ndr_context_get_device(get(), &info);
        return detail::made(status, std::move(info));
    }

    /** What the store on disk did. `folder` lasts as long as the context. */
    result<ndr_cache_info> cache() const
    {
        ndr_cache_info info{};
        const ndr_status status = ndr_context_get_cache(get(), &info);
        return detail::made(status, std::move(info));
    }

    /** What NDR_CHECK could and could not check. */
    result<std::string> check_report() const
    {
        return detail::read_text([this](size_t capacity, char *chars, size_t *length) {
            return ndr_context_get_check_report(get(), capacity, chars, length);
        });
    }
};

/* ---- events -------------------------------------------------------------------------------------- */

namespace detail
{

/* An exception must not pass through the library: ndr::error becomes its status, any other ends the program. */
template <class F> ndr_status call_task(F &function) noexcept
{
    using returned = std::invoke_result_t<F &>;
    static_assert(
        std::is_void_v<returned> || std::is_same_v<returned, ndr_status> || std::is_same_v<returned, outcome<void>>,
        "a host task returns void, ndr_status or ndr::result<void>");
#ifdef NDR_CXX_EXCEPTIONS
    try {
#endif
        if constexpr (std::is_void_v<returned>) return function(), NDR_OK;
        else if constexpr (std::is_same_v<returned, ndr_status>) return function();
        else return function().status();
#ifdef NDR_CXX_EXCEPTIONS
    } catch (const error &why) {
        return why.status();
    }
#endif
}

template <class F> ndr_status run_task(void *user) { return call_task(*static_cast<F *>(user)); }
template <class F> void free_task(ndr_status, const char *, void *user) { delete static_cast<F *>(user); }

template <class F> void call_ended(F &function, ndr_status status, const char *sentence) noexcept
{
    function(status, sentence);
}

template <class F> void run_ended(ndr_status status, const char *sentence, void *user)
{
    call_ended(*static_cast<F *>(user), status, sentence);
    delete static_cast<F *>(user);
}

inline uint64_t timeout_ns(std::chrono::nanoseconds limit)
{
    if (limit == std::chrono::nanoseconds::max()) return NDR_FOREVER;
    return limit.count() < 0 ? 0 : static_cast<uint64_t>(limit.count());
}

} /* namespace detail */

/** One piece of enqueued work, or an event that the program ends. An empty one counts as complete. */
class event : public detail::handle<ndr_event, ndr_event_destroy>
{
  public:
    using handle::handle;

    /** An event that ends by complete() or fail(). */
    static result<event> create(const context &context)
    {
        ndr_event *raw = nullptr;
        const ndr_status status = ndr_event_create(context.get(), &raw);
        return detail::made(status, event(raw));
    }

    result<void> complete() const { return detail::done(ndr_event_complete(get())); }
    result<void> fail(ndr_status status, text why) const
    {
        return detail::done(ndr_event_fail(get(), status, why.get()));
    }

    /** Wait until the work has ended; an error if it failed. */
    result<void> wait() const { return detail::done(ndr_event_wait(get())); }
    /** The same; the error NDR_TIMEOUT if it has not ended within `limit`. */
    result<void> wait_within(std::chrono::nanoseconds limit) const
    {
        return detail::done(ndr_event_wait_within(get(), detail::timeout_ns(limit)));
    }

    result<ndr_event_state> state() const
    {
        ndr_event_state state = NDR_EVENT_QUEUED;
        const ndr_status status = ndr_event_get_state(get(), &state);
        return detail::made(status, std::move(state));
    }

    /** How long the work ran on the device. */
    result<std::chrono::nanoseconds> elapsed() const
    {
        uint64_t ns = 0;
        const ndr_status status = ndr_event_elapsed_ns(get(), &ns);
        return detail::made(status, std::chrono::nanoseconds(ns));
    }

    result<ndr_event_times> times() const
    {
        ndr_event_times times{};
        const ndr_status status = ndr_event_get_times(get(), &times);
        return detail::made(status, std::move(times));
    }

    /** Call function(status, sentence) on a thread of its own once the work has ended. It is moved here and destroyed
     * after the call. It must not throw. */
    template <class F> result<void> set_callback(F function) const
    {
        F *kept = new F(std::move(function));
        const ndr_status status = ndr_event_set_callback(get(), detail::run_ended<F>, kept);
        if (status != NDR_OK) delete kept;
        return detail::done(status);
    }
};

namespace detail
{

/* The C handles of events. */
inline std::vector<ndr_event *> raw_events(span<const event> events)
{
    std::vector<ndr_event *> raw;
    raw.reserve(events.size());
    for (const event &each : events) raw.push_back(each.get());
    return raw;
}

/* Passes on the event of a command, if the caller wants it. */
class event_out
{
  public:
    explicit event_out(event *done) noexcept : done_(done) {}
    event_out(const event_out &) = delete;
    event_out &operator=(const event_out &) = delete;
    ~event_out()
    {
        if (raw_) done_->reset(raw_);
    }
    ndr_event **get() noexcept { return done_ ? &raw_ : nullptr; }

  private:
    event *done_;
    ndr_event *raw_ = nullptr;
};

} /* namespace detail */

/** The time limit of a wait that has none. */
inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

/** Wait until all have ended; the failure of the first that failed, or NDR_TIMEOUT. */
inline result<void> wait_all(span<const event> events, std::chrono::nanoseconds limit = forever)
{
    const std::vector<ndr_event *> raw = detail::raw_events(events);
    return detail::done(ndr_event_wait_all(raw.data(), raw.size(), detail::timeout_ns(limit)));
}

/** Wait until one has ended, and get its index; its failure, or NDR_TIMEOUT. */
inline result<size_t> wait_any(span<const event> events, std::chrono::nanoseconds limit = forever)
{
    const std::vector<ndr_event *> raw = detail::raw_events(events);
    size_t index = 0;
    const ndr_status status = ndr_event_wait_any(raw.data(), raw.size(), detail::timeout_ns(limit), &index);
    return detail::made(status, std::move(index));
}

/* ---- memory -------------------------------------------------------------------------------------- */

/** Device memory of elements of type T. It can be an argument of a launch. */
template <class T = std::byte> class buffer : public detail::handle<ndr_buffer, ndr_buffer_destroy>
{
  public:
    static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>, "elements are copied as bytes");
    using element = T;
    using handle::handle;

    /** Of `count` elements, undefined until written. */
    static result<buffer> create(const context &context, size_t count)
    {
        return make(
            [&](ndr_buffer **raw) { return ndr_buffer_create(context.get(), detail::product(count, sizeof(T)), raw); });
    }

    /** That starts as a copy of `contents`. */
    static result<buffer> create_from(const context &context, span<const T> contents)
    {
        return make([&](ndr_buffer **raw) {
            return ndr_buffer_create_from(context.get(), contents.size_bytes(), contents.data(), raw);
        });
    }

    /** Over the host's memory, which must outlive the buffer and the work that uses it. */
    static result<buffer> create_over(const context &context, span<T> host)
    {
        return make([&](ndr_buffer **raw) {
            return ndr_buffer_create_over(context.get(), host.size_bytes(), host.data(), raw);
        });
    }

    /** As `desc` says, whose sizes are bytes. */
    static result<buffer> create(const context &context, const ndr_buffer_desc &desc)
    {
        return make([&](ndr_buffer **raw) { return ndr_buffer_create_with(context.get(), &desc, raw); });
    }

    /** A view: the elements [first, first + count) of this buffer, as elements of U; `first` counts elements of T. */
    template <class U = T> result<buffer<U>> view(size_t first, size_t count) const
    {
        return buffer<U>::make([&](ndr_buffer **raw) {
            return ndr_buffer_create_view(get(), detail::product(first, sizeof(T)), detail::product(count, sizeof(U)),
                                          raw);
        });
    }

    size_t size() const noexcept { return size_bytes() / sizeof(T); }
    size_t size_bytes() const noexcept { return ndr_buffer_size(get()); }

    /** The address on the device, of a buffer that has one. */
    result<uint64_t> address() const
    {
        uint64_t address = 0;
        const ndr_status status = ndr_buffer_get_address(get(), &address);
        return detail::made(status, std::move(address));
    }

    ndr_arg arg() const { return ndr_arg_of(get()); }

  private:
    template <class U> friend class buffer;
    template <class Call> static result<buffer> make(const Call &call)
    {
        ndr_buffer *raw = nullptr;
        const ndr_status status = call(&raw);
        return detail::made(status, buffer(raw));
    }
};

/** What a kind of shared memory can do on a device. */
inline result<ndr_shared_info> shared_info(const context &context, ndr_shared_kind kind)
{
    ndr_shared_info info{};
    const ndr_status status = ndr_shared_get_info(context.get(), kind, &info);
    return detail::made(status, std::move(info));
}

/** Memory of elements of type T at one address on the host and the device. As an argument of a launch it is the address
 * of its first element. */
template <class T = std::byte> class shared : public detail::handle<ndr_shared, ndr_shared_destroy>
{
  public:
    static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>, "elements are copied as bytes");
    using element = T;
    using handle::handle;

    /** Of `count` elements, undefined until written. */
    static result<shared> create(const context &context, size_t count, ndr_shared_kind kind = NDR_SHARED_ANY)
    {
        ndr_shared *raw = nullptr;
        const ndr_status status = ndr_shared_create(context.get(), kind, detail::product(count, sizeof(T)), &raw);
        return detail::made(status, shared(raw));
    }

    /** The first element. Whether the host may use it depends on the kind. */
    T *data() const noexcept { return static_cast<T *>(ndr_shared_pointer(get())); }
    size_t size() const noexcept { return ndr_shared_size(get()) / sizeof(T); }
    ndr_arg arg() const { return ndr_arg_of(get()); }
};

/** How kernels read images. */
class sampler : public detail::handle<ndr_sampler, ndr_sampler_destroy>
{
  public:
    using handle::handle;

    static result<sampler> create(const context &context, const ndr_sampler_desc &desc = {})
    {
        ndr_sampler *raw = nullptr;
        const ndr_status status = ndr_sampler_create(context.get(), &desc, &raw);
        return detail::made(status, sampler(raw));
    }

    ndr_arg arg() const { return ndr_arg_of(get()); }
};

/** Bytes of an element; 0 for a format that is not valid. */
inline size_t size_bytes(ndr_image_format format) { return ndr_image_format_size(format); }

/** The formats that the device has for such images. */
inline result<std::vector<ndr_image_format>> image_formats(const context &context, const ndr_image_desc &use)
{
    size_t count = 0;
    ndr_status status = ndr_image_list_formats(context.get(), &use, 0, nullptr, &count);
    std::vector<ndr_image_format> all(count);
    if (status == NDR_OK) status = ndr_image_list_formats(context.get(), &use, all.size(), all.data(), &count);
    return detail::made(status, std::move(all));
}

/** Memory that kernels read by coordinates. */
class image : public detail::handle<ndr_image, ndr_image_destroy>
{
  public:
    image() noexcept = default;
    /** Take over a C handle of that format and size, which bound its transfers. */
    image(ndr_image *raw, ndr_image_format format, const ndr_range &size) noexcept
        : handle(raw), format_(format), size_(size)
    {
    }

    static result<image> create(const context &context, const ndr_image_desc &desc)
    {
        ndr_image *raw = nullptr;
        const ndr_status status = ndr_image_create(context.get(), &desc, &raw);
        return detail::made(status, image(raw, desc.format, desc.size));
    }

    ndr_image_format format() const noexcept { return format_; }
    const ndr_range &size() const noexcept { return size_; }
    ndr_arg arg() const { return ndr_arg_of(get()); }

    /** The bytes of the host's memory from the first to the last that a transfer of `part` uses. */
    size_t host_bytes(const ndr_image_part &part = {}) const
    {
        const ndr_range &extent = part.extent.dims ? part.extent : size_;
        const unsigned dims = extent.dims < 3 ? extent.dims : 3;
        size_t pitches[] = { part.plane_pitch_bytes, part.row_pitch_bytes };
        size_t bytes = size_bytes(format_);
        for (unsigned d = dims; d-- > 0;) {
            if (extent.size[d] == 0) return 0;
            const bool is_row = d + 1 == dims;
            const size_t pitch = is_row ? bytes : pitches[d + 3 - dims];
            bytes = detail::sum(detail::product(extent.size[d] - 1, pitch ? pitch : bytes), bytes);
        }
        return bytes;
    }

  private:
    ndr_image_format format_{};
    ndr_range size_{};
};

/* ---- arguments ----------------------------------------------------------------------------------- */

/** A deliberate NULL, for a parameter of pointer type. */
struct null_pointer {
    ndr_arg arg() const { return ndr_null; }
};
inline constexpr null_pointer null{};

/** Local memory of elements of type T, for a parameter `local T *`. */
template <class T> struct local_memory {
    size_t extent[3];
    ndr_arg arg() const { return ndr_arg_local_(dtype_of<T>, sizeof(T), 3, extent[0], extent[1], extent[2]); }
};

/** As ndr_local(): `ndr::local<float>(rows, cols)`. ndr_local() also compares the name of a struct. */
template <class T> local_memory<T> local(size_t a, size_t b = 1, size_t c = 1) { return { { a, b, c } }; }

/** A struct by value. */
template <class T> struct struct_value {
    static_assert(std::is_trivially_copyable_v<T>, "a struct is copied as bytes");
    const T *value;
    const char *type_name;
    ndr_arg arg() const { return ndr_arg_struct_(value, sizeof(T), type_name); }
};

/** As ndr_struct(): `ndr::value(p)`, or `ndr::value(p, "struct pair")`, which also compares the name. `p` must last
 * until the launch has returned. */
template <class T> struct_value<T> value(const T &value, const char *type_name = nullptr)
{
    return { &value, type_name };
}

/** A vector by value, of N elements. */
template <class T, size_t N> struct vector_value {
    static_assert(dtype_of<T> != NDR_DTYPE_NONE, "the elements of a vector are numbers");
    static_assert(N == 2 || N == 3 || N == 4 || N == 8 || N == 16, "a vector has 2, 3, 4, 8 or 16 elements");
    T elements[N];
    ndr_arg arg() const { return ndr_arg_vector_(dtype_of<T>, elements, sizeof elements); }
};

/** As ndr_vector(): `ndr::vec<float>(x, y, z, w)`. */
template <class T, class... Values> vector_value<T, sizeof...(Values)> vec(Values... values)
{
    return { { static_cast<T>(values)... } };
}

/** Where the result of a reducer of type T goes. */
template <class T> struct reducer_value {
    ndr_op op;
    T initial;
    ndr_buffer *results;
    size_t element;
    ndr_arg arg() const { return ndr_arg_reducer_(op, ndr_arg_of(initial), results, element); }
};

/** As ndr_reducer(): the result goes to element `element` of `results`. */
template <class T>
reducer_value<T> reducer(ndr_op op, detail::plain<T> initial, const buffer<T> &results, size_t element = 0)
{
    return { op, initial, results.get(), element };
}

/** An address in a shared allocation. */
template <class T> struct shared_address {
    ndr_shared *allocation;
    const T *pointer;
    ndr_arg arg() const { return ndr_shared_at(allocation, pointer); }
};

/** As ndr_shared_at(). */
template <class T> shared_address<T> at(const shared<T> &allocation, const detail::plain<T> *pointer)
{
    return { allocation.get(), pointer };
}

/** Memory that a kernel uses without an argument: after the last argument. */
struct reached_memory {
    ndr_arg made;
    ndr_arg arg() const { return made; }
};
template <class T> reached_memory reaches(const shared<T> &memory) { return { ndr_reaches(memory.get()) }; }
template <class T> reached_memory reaches(const buffer<T> &memory) { return { ndr_reaches_buffer(memory.get()) }; }

namespace detail
{

template <class T> inline constexpr bool is_number = std::is_arithmetic_v<T> &&dtype_of<T> != NDR_DTYPE_NONE;

/** What a launch takes of `value`. */
template <class A> ndr_arg to_arg(const A &value)
{
    static_assert(has_arg<A>::value || is_number<A> || std::is_same_v<A, bool> || std::is_same_v<A, ndr_arg>,
                  "this is not an argument of a launch: pass an ndr::buffer, image, sampler or shared, a number, "
                  "ndr::local<T>(n), ndr::vec<T>(...), ndr::value(a_struct), ndr::null or an ndr_arg");
    if constexpr (has_arg<A>::value) return value.arg();
    else return ndr_arg_of(value);
}

/* Whether a parameter declared as P in a typed_kernel takes an A. */
template <class P, class A> struct takes : std::bool_constant<std::is_same_v<P, A>> {
};
template <class P, class T> struct takes<P *, buffer<T>> : std::is_same<std::remove_const_t<P>, T> {
};
template <class P, class T> struct takes<P *, shared<T>> : std::is_same<std::remove_const_t<P>, T> {
};
template <class P, class T> struct takes<P *, shared_address<T>> : std::is_same<std::remove_const_t<P>, T> {
};
template <class P> struct takes<P *, null_pointer> : std::true_type {
};
template <class P> struct takes<P, struct_value<P>> : std::true_type {
};

template <class P, class A> constexpr bool does_take()
{
    using value = std::remove_cv_t<P>;
    if constexpr (std::is_same_v<A, ndr_arg>) return true;
    else if constexpr (std::is_integral_v<value>) return std::is_integral_v<A>;
    else return takes<value, A>::value;
}

/* One for each argument, so that the compiler's error names the index and both types. */
template <size_t Index, class Parameter, class Argument> constexpr bool check_argument()
{
    static_assert(does_take<Parameter, Argument>(),
                  "this argument has another type than the kernel's parameter: see Index, Parameter and Argument");
    return true;
}

template <class Parameters, class Arguments, size_t... Index>
constexpr bool check_arguments(std::index_sequence<Index...>)
{
    return (check_argument<Index, std::tuple_element_t<Index, Parameters>, std::tuple_element_t<Index, Arguments>>()
            && ...);
}

/* Arguments of a typed kernel; a struct needs no ndr::value(). */
template <class A> auto as_value(const A &given)
{
    if constexpr (has_arg<A>::value || std::is_arithmetic_v<A> || std::is_same_v<A, ndr_arg>) return to_arg(given);
    else return value(given).arg();
}

template <class Range> ndr_nd_range to_range(const Range &range)
{
    static_assert(std::is_same_v<Range, ndr_range> || std::is_same_v<Range, ndr_nd_range>,
                  "a launch takes an ndr::range(...) or an ndr::nd_range(...)");
    return ndr_nd_range_of_(range);
}

} /* namespace detail */

/* ---- ranges -------------------------------------------------------------------------------------- */

inline ndr_range range(size_t n) { return ndr_range_1d(n); }                          /**< (n) */
inline ndr_range range(size_t rows, size_t cols) { return ndr_range_2d(rows, cols); } /**< (rows, cols) */
inline ndr_range range(size_t planes, size_t rows, size_t cols) { return ndr_range_3d(planes, rows, cols); }

/** `global` items in groups of `local`; zeros in `local` let the library choose. */
inline ndr_nd_range nd_range(const ndr_range &global, const ndr_range &local, ndr_edge edge = NDR_EDGE_REJECT)
{
    ndr_nd_range made = ndr_nd_range_of(global, local);
    made.edge = edge;
    return made;
}

/** A number of groups, of `local` items each. */
inline ndr_nd_range groups(const ndr_range &count, const ndr_range &local) { return ndr_groups_of(count, local); }

/* ---- kernels ------------------------------------------------------------------------------------- */

template <class Signature> class typed_kernel;

/** A kernel built for a context, which keeps it: copies are cheap, and nothing is destroyed. */
class kernel
{
  public:
    kernel() noexcept = default;
    explicit kernel(ndr_kernel *raw) noexcept : raw_(raw) {}

    static result<kernel> get(const context &context, const ndr_kernel_desc &desc)
    {
        ndr_kernel *raw = nullptr;
        const ndr_status status = ndr_kernel_get(context.get(), &desc, &raw);
        return detail::made(status, kernel(raw));
    }

    /** The kernel `name` of OpenCL C in `source`. */
    static result<kernel> from_source(const context &context, text name, text source, text options = nullptr)
    {
        ndr_kernel_desc desc{};
        desc.name = name.get();
        desc.source = source.get();
        desc.options = options.get();
        return get(context, desc);
    }

    /** The kernel `name` of the file `path`. */
    static result<kernel> from_file(const context &context, text name, text path, text options = nullptr)
    {
        ndr_kernel_desc desc{};
        desc.name = name.get();
        desc.file = path.get();
        desc.options = options.get();
        return get(context, desc);
    }

    ndr_kernel *get() const noexcept { return raw_; }
    explicit operator bool() const noexcept { return raw_ != nullptr; }

    result<ndr_kernel_info> info() const
    {
        ndr_kernel_info info{};
        const ndr_status status = ndr_kernel_get_info(raw_, &info);
        return detail::made(status, std::move(info));
    }

    /** The compiler's warnings. */
    result<std::string> log() const
    {
        return detail::read_text([this](size_t capacity, char *chars, size_t *length) {
            return ndr_kernel_get_log(raw_, capacity, chars, length);
        });
    }

    result<ndr_sub_group_info> sub_groups(const ndr_range &local) const
    {
        ndr_sub_group_info info{};
        const ndr_status status = ndr_kernel_get_sub_groups(raw_, &local, &info);
        return detail::made(status, std::move(info));
    }

    result<ndr_range> suggest_local(const ndr_range &global) const
    {
        ndr_range local{};
        const ndr_status status = ndr_kernel_suggest_local(raw_, &global, &local);
        return detail::made(status, std::move(local));
    }

    /** The kernel with the types of its parameters: `k.typed<void(const float *, float *, int)>()`. Refused if it takes
     * another number of arguments. */
    template <class Signature> result<typed_kernel<Signature>> typed() const;

  private:
    ndr_kernel *raw_ = nullptr;
};

/** A kernel whose launches the compiler checks. `T *` takes an ndr::buffer<T> or shared<T>, or ndr::null; an integer
 * any integer, whose value the launch checks; float and double exactly that; a struct that struct.
 * ndr::local_memory<T>, vector_value<T, N>, reducer_value<T>, image and sampler take themselves. An ndr_arg is taken
 * anywhere. The launch then compares numbers, structs and local memory with the kernel's own types. */
template <class... Parameters> class typed_kernel<void(Parameters...)> : public kernel
{
  public:
    using kernel::kernel;

    static constexpr size_t arg_count = sizeof...(Parameters);

    /** Compiles only if a launch may pass values of these types. */
    template <class... Args> static constexpr bool check()
    {
        constexpr size_t given = sizeof...(Args) - (0 + ... + size_t{ std::is_same_v<Args, reached_memory> });
        static_assert(given == arg_count, "the kernel takes another number of arguments");
        if constexpr (given == arg_count)
            return detail::check_arguments<std::tuple<Parameters...>, std::tuple<Args...>>(
                std::index_sequence_for<Parameters...>());
        else return true;
    }
};

template <class Signature> result<typed_kernel<Signature>> kernel::typed() const
{
    using made = typed_kernel<Signature>;
    ndr_kernel_info described{};
    const ndr_status status = ndr_kernel_get_info(raw_, &described);
    if (status == NDR_OK && described.arg_count != made::arg_count)
        return detail::fail<made>(error(NDR_BAD_KERNEL_ARGUMENT,
                                        "the kernel takes " + std::to_string(described.arg_count)
                                            + " arguments, but its type in the program has "
                                            + std::to_string(made::arg_count) + "; give it the kernel's parameters"));
    return detail::made(status, made(raw_));
}

/** A launch that is checked once and run many times. */
class prepared : public detail::handle<ndr_prepared, ndr_prepared_destroy>
{
  public:
    using handle::handle;

    template <class Range, class... Args>
    static result<prepared> create(const kernel &kernel, const Range &range, const Args &...args)
    {
        const ndr_nd_range whole = detail::to_range(range);
        const ndr_arg list[] = { ndr_arg(), detail::to_arg(args)... };
        ndr_prepared *raw = nullptr;
        const ndr_status status = ndr_prepare_v(kernel.get(), &whole, list + 1, sizeof...(args), &raw);
        return detail::made(status, prepared(raw));
    }

    /** Change one argument, counted from 0. */
    template <class A> result<void> set(size_t index, const A &value) const
    {
        return detail::done(ndr_prepared_set(get(), index, detail::to_arg(value)));
    }
};

/* ---- mappings ------------------------------------------------------------------------------------ */

/** Elements that the host may access until this object is destroyed or unmap() is called. It must be destroyed before
 * the memory and the queue. */
template <class T> class [[nodiscard]] mapped
{
  public:
    /** Unmaps `host` of one object. */
    using unmapper = ndr_status (*)(ndr_queue *, void *object, void *host, ndr_event **);

    mapped(ndr_queue *queue, void *object, unmapper unmapped, span<T> host) noexcept
        : queue_(queue), object_(object), unmap_(unmapped), host_(host)
    {
    }
    mapped(mapped &&other) noexcept
        : queue_(other.queue_), object_(std::exchange(other.object_, nullptr)), unmap_(other.unmap_), host_(other.host_)
    {
    }
    mapped &operator=(mapped &&other) noexcept
    {
        mapped moved(std::move(other));
        std::swap(queue_, moved.queue_);
        std::swap(object_, moved.object_);
        std::swap(unmap_, moved.unmap_);
        std::swap(host_, moved.host_);
        return *this;
    }
    ~mapped()
    {
        if (object_) NDR_IGNORE(unmap_(queue_, object_, host_.data(), nullptr));
    }

    /** End the access before the destruction. */
    result<void> unmap(event *done = nullptr)
    {
        detail::event_out out(done);
        const ndr_status status = unmap_(queue_, object_, host_.data(), out.get());
        if (status == NDR_OK) object_ = nullptr;
        return detail::done(status);
    }

    T *data() const noexcept { return host_.data(); }
    size_t size() const noexcept { return host_.size(); }
    T &operator[](size_t i) const noexcept { return host_[i]; }
    T *begin() const noexcept { return host_.data(); }
    T *end() const noexcept { return host_.data() + host_.size(); }

  private:
    ndr_queue *queue_;
    void *object_;
    unmapper unmap_;
    span<T> host_;
};

/** A mapped part of an image: bytes, with the layout of its rows and planes. */
struct [[nodiscard]] mapped_image {
    mapped<std::byte> bytes;  /**< From the part's first element to its last. */
    size_t row_pitch_bytes;   /**< As in ndr_mapped_part. */
    size_t plane_pitch_bytes; /**< As in ndr_mapped_part. */
};

/* ---- commands ------------------------------------------------------------------------------------ */

/** A row-major matrix in a buffer. */
template <class T> struct matrix {
    matrix(const buffer<T> &buffer, size_t rows, size_t cols, size_t pitch = 0, size_t offset = 0)
        : c{ buffer.get(), offset, rows, cols, pitch }
    {
    }
    ndr_matrix c; /**< For an ndr_matmul_desc. */
};

namespace detail
{

template <class Object, ndr_status (*Unmap)(ndr_queue *, Object *, void *, ndr_event **)>
ndr_status unmap(ndr_queue *queue, void *object, void *host, ndr_event **event)
{
    return Unmap(queue, static_cast<Object *>(object), host, event);
}

/* The bytes of the host's memory up to the last one of a rectangle. */
inline size_t rect_bytes(const ndr_rect_desc &desc, const ndr_rect_side &side)
{
    const unsigned dims = desc.extent.dims < 3 ? desc.extent.dims : 3;
    const size_t element = desc.element_bytes ? desc.element_bytes : 1;
    size_t pitch = element, end = side.offset_bytes;
    for (unsigned d = dims; d-- > 0;) {
        const size_t extent = desc.extent.size[d],
                     given = d + 1 == dims ? side.row_pitch_bytes : side.plane_pitch_bytes;
        if (extent == 0) return 0;
        const size_t last = d + 1 == dims ? sum(side.origin[d], extent) : sum(side.origin[d], extent - 1);
        end = sum(end, product(last, pitch));
        pitch = given ? given : product(pitch, extent);
    }
    return end;
}

} /* namespace detail */

/** What a queue does, plainly or after events: ndr::queue and ndr::queue_after have these functions. */
template <class Self> class commands
{
  public:
    /** Enqueue a kernel over an ndr::range or ndr::nd_range, with one argument for each of its parameters. */
    template <class Range, class... Args>
    result<void> launch(const kernel &kernel, const Range &range, const Args &...args) const
    {
        return launch_list(kernel, nullptr, range, detail::to_arg(args)...);
    }
    template <class... P, class Range, class... Args>
    result<void> launch(const typed_kernel<void(P...)> &kernel, const Range &range, const Args &...args) const
    {
        static_assert(typed_kernel<void(P...)>::template check<Args...>());
        return launch_list(kernel, nullptr, range, detail::as_value(args)...);
    }

    /** The same; `done` gets the event. */
    template <class Range, class... Args>
    result<void> launch_event(const kernel &kernel, event &done, const Range &range, const Args &...args) const
    {
        return launch_list(kernel, &done, range, detail::to_arg(args)...);
    }
    template <class... P, class Range, class... Args>
    result<void> launch_event(const typed_kernel<void(P...)> &kernel, event &done, const Range &range,
                              const Args &...args) const
    {
        static_assert(typed_kernel<void(P...)>::template check<Args...>());
        return launch_list(kernel, &done, range, detail::as_value(args)...);
    }

    /** Enqueue a prepared launch. */
    result<void> run(const prepared &prepared, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_prepared_run(q, prepared.get(), e); });
    }

    /** An event that completes when everything enqueued before it has ended. */
    result<event> mark() const
    {
        ndr_event *raw = nullptr;
        const ndr_status status = ndr_queue_mark(self().passed(), &raw);
        return detail::made(status, event(raw));
    }

    result<void> barrier(event *done = nullptr) const
    {
        return enqueue(done, [](ndr_queue *q, ndr_event **e) { return ndr_queue_barrier(q, e); });
    }

    /** Enqueue a function of the host, which returns void, an ndr_status or a result<void>. It is moved here, called on
     * another thread, and destroyed when the task has ended, called or not. An exception of another class than
     * ndr::error ends the program. */
    template <class F> result<void> host_task(F function, event *done = nullptr) const
    {
        F *kept = new F(std::move(function));
        event ended;
        ndr_event *raw = nullptr;
        const ndr_status status = ndr_host_task(self().passed(), detail::run_task<F>, kept, &raw);
        if (status != NDR_OK) return delete kept, detail::done(status);
        ended.reset(raw);
        if (ndr_event_set_callback(raw, detail::free_task<F>, kept) != NDR_OK) {
            NDR_IGNORE(ndr_event_wait(raw)); /* no memory for the callback */
            delete kept;
        }
        if (done) *done = std::move(ended);
        return ok();
    }

    /* ---- buffers ---- */

    /** Copy the host's memory to the elements from `first` on. */
    template <class T>
    result<void> write(const buffer<T> &buffer, span<const detail::plain<T>> host, size_t first = 0,
                       event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_buffer_write(q, buffer.get(), bytes_of<T>(first), host.size_bytes(), host.data(), e);
        });
    }

    /** Copy the elements from `first` on to the host's memory, as many as that has. */
    template <class T>
    result<void> read(const buffer<T> &buffer, span<detail::plain<T>> host, size_t first = 0,
                      event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_buffer_read(q, buffer.get(), bytes_of<T>(first), host.size_bytes(), host.data(), e);
        });
    }

    /** All elements. */
    template <class T> result<std::vector<T>> read(const buffer<T> &buffer) const
    {
        std::vector<T> all(buffer.size());
        const ndr_status status =
            ndr_buffer_read(self().passed(), buffer.get(), 0, all.size() * sizeof(T), all.data(), nullptr);
        return detail::made(status, std::move(all));
    }

    /** Set `count` elements from `first` on. */
    template <class T>
    result<void> fill(const buffer<T> &buffer, const detail::plain<T> &value, size_t first, size_t count,
                      event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_buffer_fill(q, buffer.get(), bytes_of<T>(first), bytes_of<T>(count), &value, sizeof(T), e);
        });
    }

    /** Set all elements. */
    template <class T>
    result<void> fill(const buffer<T> &buffer, const detail::plain<T> &value, event *done = nullptr) const
    {
        return fill(buffer, value, 0, buffer.size(), done);
    }

    /** Copy `count` elements. */
    template <class T>
    result<void> copy(const buffer<T> &from, size_t from_first, const buffer<T> &to, size_t to_first, size_t count,
                      event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_buffer_copy(q, from.get(), bytes_of<T>(from_first), to.get(), bytes_of<T>(to_first),
                                   bytes_of<T>(count), e);
        });
    }

    /** Copy all elements of `from` to the first ones of `to`. */
    template <class T> result<void> copy(const buffer<T> &from, const buffer<T> &to, event *done = nullptr) const
    {
        return copy(from, 0, to, 0, from.size(), done);
    }

    /** Copy `count` elements to a buffer of another queue, which may be of another context. Without `done`, returns when
     * they have arrived. */
    template <class T, class Queue>
    result<void> transfer(const buffer<T> &from, size_t from_first, const Queue &to_queue, const buffer<T> &to,
                          size_t to_first, size_t count, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_buffer_transfer(q, from.get(), bytes_of<T>(from_first), to_queue.get(), to.get(),
                                       bytes_of<T>(to_first), bytes_of<T>(count), e);
        });
    }

    template <class T>
    result<void> copy_rect(const buffer<T> &from, const buffer<T> &to, const ndr_rect_desc &desc,
                           event *done = nullptr) const
    {
        return enqueue(
            done, [&](ndr_queue *q, ndr_event **e) { return ndr_buffer_copy_rect(q, from.get(), to.get(), &desc, e); });
    }

    template <class T>
    result<void> write_rect(const buffer<T> &buffer, const ndr_rect_desc &desc, span<const detail::plain<T>> host,
                            event *done = nullptr) const
    {
        const size_t bytes = detail::rect_bytes(desc, desc.from);
        if (bytes > host.size_bytes())
            return detail::fail<void>(detail::outside("write_rect", bytes, host.size_bytes()));
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_buffer_write_rect(q, buffer.get(), &desc, host.data(), e);
        });
    }

    template <class T>
    result<void> read_rect(const buffer<T> &buffer, const ndr_rect_desc &desc, span<detail::plain<T>> host,
                           event *done = nullptr) const
    {
        const size_t bytes = detail::rect_bytes(desc, desc.to);
        if (bytes > host.size_bytes())
            return detail::fail<void>(detail::outside("read_rect", bytes, host.size_bytes()));
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_buffer_read_rect(q, buffer.get(), &desc, host.data(), e);
        });
    }

    /** Let the host access `count` elements from `first` on. */
    template <class T>
    result<mapped<T>> map(const buffer<T> &buffer, ndr_map_access access, size_t first, size_t count) const
    {
        void *host = nullptr;
        const ndr_status status =
            ndr_buffer_map(self().passed(), buffer.get(), access, bytes_of<T>(first), bytes_of<T>(count), &host);
        return detail::made(status, mapped_at<T, ndr_buffer, ndr_buffer_unmap>(buffer.get(), host, count));
    }
    template <class T> result<mapped<T>> map(const buffer<T> &buffer, ndr_map_access access) const
    {
        return map(buffer, access, 0, buffer.size());
    }

    /* ---- shared allocations ---- */

    template <class T>
    result<void> write(const shared<T> &shared, span<const detail::plain<T>> host, size_t first = 0,
                       event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_shared_write(q, shared.get(), bytes_of<T>(first), host.size_bytes(), host.data(), e);
        });
    }

    template <class T>
    result<void> read(const shared<T> &shared, span<detail::plain<T>> host, size_t first = 0,
                      event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_shared_read(q, shared.get(), bytes_of<T>(first), host.size_bytes(), host.data(), e);
        });
    }

    template <class T>
    result<void> copy(const shared<T> &from, size_t from_first, const shared<T> &to, size_t to_first, size_t count,
                      event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_shared_copy(q, from.get(), bytes_of<T>(from_first), to.get(), bytes_of<T>(to_first),
                                   bytes_of<T>(count), e);
        });
    }

    /** Move elements to the device before a kernel uses them: a hint. */
    template <class T>
    result<void> prefetch(const shared<T> &shared, size_t first, size_t count, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_shared_prefetch(q, shared.get(), bytes_of<T>(first), bytes_of<T>(count), e);
        });
    }

    template <class T>
    result<mapped<T>> map(const shared<T> &shared, ndr_map_access access, size_t first, size_t count) const
    {
        void *host = nullptr;
        const ndr_status status =
            ndr_shared_map(self().passed(), shared.get(), access, bytes_of<T>(first), bytes_of<T>(count), &host);
        return detail::made(status, mapped_at<T, ndr_shared, ndr_shared_unmap>(shared.get(), host, count));
    }
    template <class T> result<mapped<T>> map(const shared<T> &shared, ndr_map_access access) const
    {
        return map(shared, access, 0, shared.size());
    }

    /* ---- images: the host's memory is bytes of any type ---- */

    /** Copy the host's memory to a part of an image; `part` {} is all of it. */
    template <class Host>
    result<void> write(const image &image, const Host &host, const ndr_image_part &part = {},
                       event *done = nullptr) const
    {
        const auto &elements = span<const std::remove_pointer_t<decltype(std::data(host))>>(host);
        const size_t bytes = image.host_bytes(part);
        if (bytes > elements.size_bytes())
            return detail::fail<void>(detail::outside("write of an image", bytes, elements.size_bytes()));
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_image_write(q, image.get(), &part, elements.data(), e);
        });
    }

    /** Copy a part of an image to the host's memory. */
    template <class Host>
    result<void> read(const image &image, Host &&host, const ndr_image_part &part = {}, event *done = nullptr) const
    {
        const auto &elements = span<std::remove_pointer_t<decltype(std::data(host))>>(host);
        const size_t bytes = image.host_bytes(part);
        if (bytes > elements.size_bytes())
            return detail::fail<void>(detail::outside("read of an image", bytes, elements.size_bytes()));
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_image_read(q, image.get(), &part, elements.data(), e);
        });
    }

    /** Give all elements of a part one value of r, g, b and a: float, int32_t or uint32_t, as the type is read. */
    template <class T>
    result<void> fill(const image &image, const std::array<T, 4> &value, const ndr_image_part &part = {},
                      event *done = nullptr) const
    {
        static_assert(std::is_same_v<T, float> || std::is_same_v<T, int32_t> || std::is_same_v<T, uint32_t>,
                      "channels are read as float, int32_t or uint32_t");
        return enqueue(
            done, [&](ndr_queue *q, ndr_event **e) { return ndr_image_fill(q, image.get(), &part, value.data(), e); });
    }

    result<void> copy(const image &from, const image &to, const ndr_image_part &part = {},
                      const std::array<size_t, 3> &to_origin = {}, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_image_copy(q, from.get(), &part, to.get(), to_origin.data(), e);
        });
    }

    result<mapped_image> map(const image &image, ndr_map_access access, const ndr_image_part &part = {}) const
    {
        ndr_mapped_part at{};
        const ndr_status status = ndr_image_map(self().passed(), image.get(), access, &part, &at);
        ndr_image_part laid_out = part;
        laid_out.row_pitch_bytes = at.row_pitch_bytes;
        laid_out.plane_pitch_bytes = at.plane_pitch_bytes;
        return detail::made(status, mapped_image{ mapped_at<std::byte, ndr_image, ndr_image_unmap>(
                                                      image.get(), at.host, image.host_bytes(laid_out)),
                                                  at.row_pitch_bytes, at.plane_pitch_bytes });
    }

    /* ---- operations ---- */

    result<void> reduce(const ndr_reduce_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_reduce(q, &desc, e); });
    }

    /** Combine all elements of `input` into the first of `output`. */
    template <class T>
    result<void> reduce(ndr_op op, const buffer<T> &input, const buffer<T> &output, event *done = nullptr) const
    {
        static_assert(dtype_of<T> != NDR_DTYPE_NONE, "the elements of a reduction are numbers");
        ndr_reduce_desc desc{};
        desc.dtype = dtype_of<T>;
        desc.op = op;
        desc.input.buffer = input.get();
        desc.count = input.size();
        desc.output.buffer = output.get();
        return reduce(desc, done);
    }

    result<void> matmul(const ndr_matmul_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_matmul(q, &desc, e); });
    }

    /** c = alpha * a * b + beta * c; `scaling` {} is alpha 1 and beta 0. */
    template <class T>
    result<void> matmul(const matrix<T> &a, const matrix<T> &b, const matrix<T> &c, const ndr_scaling &scaling = {},
                        event *done = nullptr) const
    {
        static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "products are of float or double");
        ndr_matmul_desc desc{};
        desc.dtype = dtype_of<T>;
        desc.scaling = scaling;
        desc.a = a.c;
        desc.b = b.c;
        desc.c = c.c;
        return matmul(desc, done);
    }

    result<void> array_copy(const ndr_array_copy_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_array_copy(q, &desc, e); });
    }

    result<void> gather(const ndr_gather_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_gather(q, &desc, e); });
    }

    result<void> scatter(const ndr_scatter_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_scatter(q, &desc, e); });
    }

    result<void> histogram(const ndr_histogram_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_histogram(q, &desc, e); });
    }

    result<void> random(const ndr_random_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_random(q, &desc, e); });
    }

    result<void> array_scan(const ndr_array_scan_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_array_scan(q, &desc, e); });
    }

    result<void> scan(const ndr_scan_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_scan(q, &desc, e); });
    }

    result<void> select(const ndr_select_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_select(q, &desc, e); });
    }

    result<void> merge(const ndr_merge_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_merge(q, &desc, e); });
    }

    result<void> merge_sort(const ndr_merge_sort_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_merge_sort(q, &desc, e); });
    }

    result<void> top_k(const ndr_top_k_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_top_k(q, &desc, e); });
    }

    result<void> sort(const ndr_sort_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_sort(q, &desc, e); });
    }

    result<void> map(const ndr_map_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_map(q, &desc, e); });
    }

    result<void> map_reduce(const ndr_map_reduce_desc &desc, event *done = nullptr) const
    {
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) { return ndr_map_reduce(q, &desc, e); });
    }

  private:
    const Self &self() const noexcept { return static_cast<const Self &>(*this); }

    template <class T> static constexpr size_t bytes_of(size_t count) { return detail::product(count, sizeof(T)); }

    template <class Call> result<void> enqueue(event *done, const Call &call) const
    {
        detail::event_out out(done);
        return detail::done(call(self().passed(), out.get()));
    }

    template <class Range, class... Args>
    result<void> launch_list(const kernel &kernel, event *done, const Range &range, const Args &...args) const
    {
        const ndr_nd_range whole = detail::to_range(range);
        const ndr_arg list[] = { ndr_arg(), args... };
        return enqueue(done, [&](ndr_queue *q, ndr_event **e) {
            return ndr_launch_v(q, kernel.get(), &whole, list + 1, sizeof...(args), e);
        });
    }

    template <class T, class Object, ndr_status (*Unmap)(ndr_queue *, Object *, void *, ndr_event **)>
    mapped<T> mapped_at(Object *object, void *host, size_t count) const
    {
        return mapped<T>(self().raw(), host ? object : nullptr, detail::unmap<Object, Unmap>,
                         span<T>(static_cast<T *>(host), host ? count : 0));
    }
};

/** A queue whose next command waits for events: the result of queue::after(). Use it in the same expression. */
template <class Events> class queue_after : public commands<queue_after<Events>>
{
  public:
    queue_after(ndr_queue *queue, Events events) : queue_(queue), events_(std::move(events)) {}
    queue_after(const queue_after &) = delete;
    queue_after &operator=(const queue_after &) = delete;

    ndr_queue *raw() const noexcept { return queue_; }
    /** What the C functions get as their queue. */
    ndr_queue *passed() const noexcept
    {
        after_ = ndr_after_all(queue_, events_.data(), events_.size());
        return ndr_queue_passed_(after_);
    }

  private:
    ndr_queue *queue_;
    Events events_;
    mutable ndr_queue_after after_{};
};

/** A queue of work for a context's device. */
class queue : public detail::handle<ndr_queue, ndr_queue_destroy>, public commands<queue>
{
  public:
    using handle::handle;

    static result<queue> create(const context &context, const ndr_queue_desc &desc = {})
    {
        ndr_queue *raw = nullptr;
        const ndr_status status = ndr_queue_create(context.get(), &desc, &raw);
        return detail::made(status, queue(raw));
    }

    /** The queue for a command that waits for these events: `queue.after(a, b).launch(...)`. */
    template <class... Events>
    queue_after<std::array<ndr_event *, sizeof...(Events)>> after(const Events &...events) const
    {
        static_assert((std::is_same_v<Events, event> && ...), "after() takes ndr::event");
        return { get(), { { events.get()... } } };
    }
    queue_after<std::vector<ndr_event *>> after_all(span<const event> events) const
    {
        return { get(), detail::raw_events(events) };
    }

    result<void> flush() const { return detail::done(ndr_queue_flush(get())); }
    /** Wait until everything enqueued has ended. */
    result<void> finish() const { return detail::done(ndr_queue_finish(get())); }
    /** The same; the error NDR_TIMEOUT if it has not ended within `limit`. */
    result<void> finish_within(std::chrono::nanoseconds limit) const
    {
        return detail::done(ndr_queue_finish_within(get(), detail::timeout_ns(limit)));
    }
    /** Wait, and get the time then, by the host's monotonic clock. */
    result<std::chrono::nanoseconds> finish_timed() const
    {
        uint64_t ns = 0;
        const ndr_status status = ndr_queue_finish_timed(get(), &ns);
        return detail::made(status, std::chrono::nanoseconds(ns));
    }

    ndr_queue *raw() const noexcept { return get(); }    /**< For commands. */
    ndr_queue *passed() const noexcept { return get(); } /**< For commands. */
};

/* ---- groups -------------------------------------------------------------------------------------- */

/** Several devices, or parts of one, that work on arrays of the host: ndr_group.h. */
class group : public detail::handle<ndr_group, ndr_group_destroy>
{
  public:
    using handle::handle;

    static result<group> create(const ndr_group_desc &desc = {})
    {
        ndr_group *raw = nullptr;
        const ndr_status status = ndr_group_create(&desc, &raw);
        return detail::made(status, group(raw));
    }

    /** The number of ranks. */
    size_t size() const noexcept { return ndr_group_size(get()); }
    result<void> matmul(const ndr_group_matmul_desc &desc) const { return detail::done(ndr_group_matmul(get(), &desc)); }
    result<void> reduce(const ndr_group_reduce_desc &desc) const { return detail::done(ndr_group_reduce(get(), &desc)); }
    result<void> map(const ndr_group_map_desc &desc) const { return detail::done(ndr_group_map(get(), &desc)); }
    result<void> scan(const ndr_group_scan_desc &desc) const { return detail::done(ndr_group_scan(get(), &desc)); }
};

/* ---- tuning, building ahead ---------------------------------------------------------------------- */

/** Measure the implementations of a product on this device, and use the fastest. */
inline result<ndr_tune_result> tune(const context &context, const ndr_tune_desc &desc)
{
    ndr_tune_result found{};
    const ndr_status status = ndr_tune(context.get(), &desc, &found);
    return detail::made(status, std::move(found));
}

/** Build kernels ahead and put their programs into the store on disk. */
inline result<void> cache_warm(const context &context, span<const ndr_warm_desc> descs)
{
    return detail::done(ndr_cache_warm(context.get(), descs.data(), descs.size(), nullptr, nullptr));
}

/** The same; progress(const ndr_warm_progress &) is called for each, from any thread, and must not throw. */
template <class F> result<void> cache_warm(const context &context, span<const ndr_warm_desc> descs, F &&progress)
{
    using function = std::remove_reference_t<F>;
    ndr_warm_callback *const call = [](const ndr_warm_progress *each, void *user) {
        (*static_cast<function *>(user))(*each);
    };
    void *const user = const_cast<void *>(static_cast<const volatile void *>(&progress));
    return detail::done(ndr_cache_warm(context.get(), descs.data(), descs.size(), call, user));
}

} /* inline namespace */
} /* namespace ndr */

#endif
