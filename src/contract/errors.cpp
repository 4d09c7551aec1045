#include "mortise/errors.hpp"

namespace mortise {

namespace {

class StoreCategory final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "mortise"; }

  [[nodiscard]] std::string message(int code) const override {
    switch (static_cast<StoreErrc>(code)) {
      case StoreErrc::cannot_open:
        return "cannot open the store";
      case StoreErrc::permission_denied:
        return "permission denied";
      case StoreErrc::no_space:
        return "no space";
      case StoreErrc::not_a_segment:
        return "not a mortise segment";
      case StoreErrc::incompatible:
        return "incompatible segment";
      case StoreErrc::foreign_namespace:
        return "segment of another namespace";
      case StoreErrc::corrupt:
        return "corrupt segment";
      case StoreErrc::table_full:
        return "table full";
      case StoreErrc::too_many_processes:
        return "too many processes";
      case StoreErrc::replaced:
        return "segment was replaced";
      case StoreErrc::stalled:
        return "stalled by another process";
      case StoreErrc::unsupported:
        return "not supported by this store";
      case StoreErrc::in_use:
        return "store in use";
      case StoreErrc::unreachable:
        return "server out of reach";
      case StoreErrc::refused:
        return "refused by the server";
      case StoreErrc::bad_answer:
        return "senseless answer of the server";
    }
    return "unknown error " + std::to_string(code);
  }
};

}  // namespace

const std::error_category& store_category() noexcept {
  static const StoreCategory category;
  return category;
}

}  // namespace mortise
