#include "routes.hpp"

#include <unistd.h>

#include <iostream>
#include <mortise/mortise.hpp>
#include <nlohmann/json.hpp>
#include <string_view>

namespace prefork_server {
namespace {

using Json = nlohmann::ordered_json;
using boost::beast::http::field;
using boost::beast::http::status;
using boost::beast::http::verb;

Response json_response(status code, const Json& json) {
  Response response(code, 11);
  response.set(field::content_type, "application/json");
  // What is not UTF-8 in a customer's name is replaced, not thrown at.
  response.body() = json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  return response;
}

Response method_not_allowed(verb allowed) {
  Response response = json_response(status::method_not_allowed, {{"error", "method not allowed"}});
  response.set(field::allow, boost::beast::http::to_string(allowed));
  return response;
}

// What follows the prefix; nullopt when the target does not begin with it.
std::optional<std::string> after(std::string_view target, std::string_view prefix) {
  if (!target.starts_with(prefix)) return std::nullopt;
  return std::string(target.substr(prefix.size()));
}

}  // namespace

Response Routes::answer(const Request& request) {
  try {
    return route(request);
  } catch (const mortise::StoreError& error) {
    return json_response(status::service_unavailable, {{"error", error.what()}});
  } catch (const mortise::LockNotHeldError& error) {
    return json_response(status::conflict, {{"error", error.what()}});
  } catch (const std::exception& error) {
    std::clog << std::string("cannot answer: ") + error.what() + '\n';
    return json_response(status::internal_server_error, {{"error", "internal error"}});
  }
}

Response Routes::route(const Request& request) {
  const std::string_view target(request.target().data(), request.target().size());
  if (target == "/healthz") {
    if (request.method() != verb::get) return method_not_allowed(verb::get);
    return json_response(status::ok, {{"status", "ok"}, {"worker", getpid()}});
  }
  const auto to_charge = after(target, "/charge/");
  const auto to_show = after(target, "/invoices/");
  if (!to_charge && !to_show) return json_response(status::not_found, {{"error", "no such resource"}});

  const verb allowed = to_charge ? verb::post : verb::get;
  if (request.method() != allowed) return method_not_allowed(allowed);
  const auto found = invoices_.find(to_charge ? *to_charge : *to_show);
  if (found == invoices_.end()) return json_response(status::not_found, {{"error", "no such invoice"}});
  return to_charge ? charge_invoice(found->second) : show_invoice(found->second);
}

Response Routes::charge_invoice(const Invoice& invoice) {
  const auto response = [&](status code, const char* text) {
    return json_response(code, {{"invoice", invoice.id}, {"status", text}, {"worker", getpid()}});
  };
  switch (charge(invoice, ledger_, times_)) {
    case ChargeOutcome::charged:
      return response(status::created, "charged");
    case ChargeOutcome::already_charged:
      return response(status::ok, "already charged");
    case ChargeOutcome::being_charged:
      break;
  }
  return response(status::conflict, "being charged");
}

Response Routes::show_invoice(const Invoice& invoice) {
  return json_response(status::ok, {{"invoice", invoice.id},
                                    {"customer", invoice.customer},
                                    {"amount", invoice.amount},
                                    {"currency", invoice.currency},
                                    {"charged", ledger_.contains(invoice.id)}});
}

}  // namespace prefork_server
