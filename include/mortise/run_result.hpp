// Running a function under a lock, and what came of it.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace mortise {

// What run() answers: did fn run, what did it return, was the lease lost meanwhile.
// Binds as auto [ran, result], result a std::optional; for a void fn as auto [ran]. A returned reference is
// kept as a std::reference_wrapper.
template <class R>
class [[nodiscard]] RunResult {
 public:
  using Value = std::conditional_t<std::is_reference_v<R>, std::reference_wrapper<std::remove_reference_t<R>>,
                                   std::remove_cv_t<R>>;

  static RunResult not_granted() { return RunResult(); }
  RunResult(Value value, bool lost) : value_(std::move(value)), lost_(lost) {}

  explicit operator bool() const noexcept { return value_.has_value(); }
  // The lease ended before fn did, or could not be released: what fn did was not exclusive to its end (C11).
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  [[nodiscard]] const std::optional<Value>& result() const& noexcept { return value_; }
  [[nodiscard]] std::optional<Value>&& result() && noexcept { return std::move(value_); }

  template <std::size_t I>
  [[nodiscard]] decltype(auto) get() && {
    if constexpr (I == 0) {
      return value_.has_value();
    } else {
      return std::move(*this).result();
    }
  }
  template <std::size_t I>
  [[nodiscard]] decltype(auto) get() const& {
    if constexpr (I == 0) {
      return value_.has_value();
    } else {
      return result();
    }
  }

 private:
  // Spelt out, or GCC 12 takes the empty optional that is returned in registers for one that is read
  // uninitialized.
  RunResult() : value_(std::nullopt) {}
  std::optional<Value> value_;
  bool lost_ = false;
};

template <>
class [[nodiscard]] RunResult<void> {
 public:
  static RunResult not_granted() { return {false, false}; }
  RunResult(bool ran, bool lost) : ran_(ran), lost_(lost) {}

  explicit operator bool() const noexcept { return ran_; }
  [[nodiscard]] bool lost() const noexcept { return lost_; }

  template <std::size_t I>
  [[nodiscard]] bool get() const {
    return ran_;
  }

 private:
  bool ran_;
  bool lost_;
};

namespace detail {

// What fn returned or threw stands, whatever becomes of the release (C11).
template <class Holder>
bool release_quietly(Holder& holder) noexcept {
  try {
    return holder.release();
  } catch (const std::exception&) {
    return false;
  }
}

template <class Holder, class F>
decltype(auto) call_with(Holder& holder, F&& fn) {
  if constexpr (std::is_invocable_v<F, Holder&>) {
    return std::invoke(std::forward<F>(fn), holder);
  } else if constexpr (std::is_invocable_v<F, std::stop_token>) {
    return std::invoke(std::forward<F>(fn), holder.lost_token());
  } else {
    return std::invoke(std::forward<F>(fn));
  }
}

// Lock::run, for a Holder that acquires and releases one key or several.
template <class Holder, class F, class Options>
auto run(Holder& holder, F&& fn, const Options& options) {
  using R = decltype(call_with(holder, std::forward<F>(fn)));
  if (!holder.acquire(options)) return RunResult<R>::not_granted();

  struct ReleaseOnThrow {
    Holder* holder;
    ~ReleaseOnThrow() {
      if (holder != nullptr) release_quietly(*holder);
    }
  } guard{&holder};
  if constexpr (std::is_void_v<R>) {
    call_with(holder, std::forward<F>(fn));
    guard.holder = nullptr;
    return RunResult<void>(true, !release_quietly(holder));
  } else {
    typename RunResult<R>::Value value(call_with(holder, std::forward<F>(fn)));
    guard.holder = nullptr;
    const bool released = release_quietly(holder);
    return RunResult<R>(std::move(value), !released);
  }
}

}  // namespace detail

}  // namespace mortise

template <class R>
struct std::tuple_size<mortise::RunResult<R>>
    : std::integral_constant<std::size_t, std::is_void_v<R> ? 1 : 2> {};
template <class R>
struct std::tuple_element<0, mortise::RunResult<R>> {
  using type = bool;
};
template <class R>
struct std::tuple_element<1, mortise::RunResult<R>> {
  using type = std::optional<typename mortise::RunResult<R>::Value>;
};
