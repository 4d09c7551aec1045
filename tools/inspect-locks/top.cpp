#include "top.hpp"

#include <curses.h>
#include <locale.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "screen_model.hpp"
#include "tables.hpp"
#include "text/display_width.hpp"
#include "text/key_text.hpp"

namespace inspect_locks {
namespace {

constexpr int kCtrlC = 3;
constexpr int kEscape = 27;
constexpr int kHeaderLines = 3;

// The terminal in curses' hands; as it was when this ends, whatever the reason.
class Screen {
 public:
  explicit Screen(std::chrono::milliseconds interval) {
    setlocale(LC_CTYPE, "C.UTF-8");
    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0 || newterm(nullptr, stdout, stdin) == nullptr)
      throw std::invalid_argument("top needs a terminal");
    cbreak();
    noecho();
    curs_set(0);
    keypad(stdscr, TRUE);
    set_escdelay(25);
    if (wants_colours() && has_colors()) {
      start_color();
      use_default_colors();
      init_pair(1, COLOR_YELLOW, -1);
      init_pair(2, COLOR_RED, -1);
    }
    timeout(static_cast<int>(interval.count()));
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() { endwin(); }

  void put(int line, std::string_view text, Style style = Style::plain) const {
    const std::string_view visible = text::fitting(text, static_cast<std::size_t>(COLS));
    attrset(attributes_of(style));
    mvaddnstr(line, 0, visible.data(), static_cast<int>(visible.size()));
    attrset(A_NORMAL);
  }

 private:
  static attr_t attributes_of(Style style) {
    switch (style) {
      case Style::heading:
        return A_REVERSE;
      case Style::notable:
        return COLOR_PAIR(1);
      case Style::alarming:
        return COLOR_PAIR(2);
      default:
        return A_NORMAL;
    }
  }
};

class Top {
 public:
  Top(const mortise::StoreView& view, const Options& options)
      : view_(view),
        store_(text::escape(options.shown_store)),
        holders_(view.knows_processes() ? Holders::known : Holders::unknown),
        screen_(options.interval.count() > 0 ? options.interval : std::chrono::seconds(1)) {}

  void run() {
    for (bool goes_on = true; goes_on; goes_on = obey(getch())) {
      if (!is_paused_) look();
      draw();
    }
  }

 private:
  void look() {
    stats_ = view_.stats();
    model_.update(view_.leases(), ScreenModel::Clock::now());
  }

  void draw() {
    const std::vector<Row> rows = model_.rows(holders_);
    const auto widths = column_widths(rows);
    const int visible = std::max(LINES - kHeaderLines, 0);
    const int count = static_cast<int>(rows.size()) - 1;
    first_ = std::clamp(first_, 0, std::max(count - visible, 0));
    erase();
    screen_.put(0, summary());
    screen_.put(1, is_filtering_ ? "filter: " + model_.filter() + "_" : settings());
    screen_.put(2, line_of(rows.front(), widths), Style::heading);
    for (int i = 0; i < visible && first_ + i < count; ++i) {
      const Row& row = rows[static_cast<std::size_t>(first_) + static_cast<std::size_t>(i) + 1];
      screen_.put(kHeaderLines + i, line_of(row, widths), row.style);
    }
    refresh();
  }

  [[nodiscard]] std::string summary() const {
    return "locks " + std::to_string(stats_.leases) + "  sleepers " + number_text(stats_.sleepers) +
           "  processes " + number_text(stats_.processes) + (is_paused_ ? "  PAUSED  " : "  ") + store_;
  }
  [[nodiscard]] std::string settings() const {
    return std::string("sorted by ") + name_of(model_.order()) +
           (model_.filter().empty() ? "" : "  filter: " + model_.filter()) +
           "  | c contended a age w waited l left k key  / filter  p pause  q quit";
  }

  // False: the user quits.
  bool obey(int key) {
    if (is_filtering_) return type_filter(key);
    switch (key) {
      case 'q':
      case kCtrlC:
        return false;
      case 'p':
      case ' ':
        is_paused_ = !is_paused_;
        return true;
      case '/':
        is_filtering_ = true;
        return true;
      case kEscape:
        model_.filter_by("");
        return true;
      default:
        if (!sort(key)) scroll_by(key);
        return true;
    }
  }

  bool sort(int key) {
    constexpr std::pair<int, Order> kOrders[] = {{'c', Order::contended},
                                                 {'a', Order::held},
                                                 {'w', Order::waited},
                                                 {'l', Order::left},
                                                 {'k', Order::key}};
    for (const auto& [letter, order] : kOrders) {
      if (letter != key) continue;
      model_.order_by(order);
      first_ = 0;
      return true;
    }
    return false;
  }

  // draw() brings it back into what there is.
  void scroll_by(int key) {
    const int page = std::max(LINES - kHeaderLines, 1);
    if (key == KEY_DOWN) ++first_;
    if (key == KEY_UP) --first_;
    if (key == KEY_NPAGE) first_ += page;
    if (key == KEY_PPAGE) first_ -= page;
    if (key == KEY_HOME) first_ = 0;
  }

  bool type_filter(int key) {
    std::string filter = model_.filter();
    if (key == '\n' || key == KEY_ENTER || key == kEscape) {
      is_filtering_ = false;
      if (key == kEscape) filter.clear();
    } else if (key == KEY_BACKSPACE || key == '\b' || key == 0x7f) {
      if (!filter.empty()) filter.pop_back();
    } else if (key >= ' ' && key <= 0xff) {
      filter += static_cast<char>(key);
    }
    model_.filter_by(filter);
    return true;
  }

  const mortise::StoreView& view_;
  const std::string store_;
  const Holders holders_;
  const Screen screen_;
  ScreenModel model_;
  mortise::StoreStats stats_;
  int first_ = 0;  // the lease at the top of the screen
  bool is_paused_ = false;
  bool is_filtering_ = false;
};

}  // namespace

void show_top(const mortise::StoreView& view, const Options& options) {
  Top(view, options).run();
}

}  // namespace inspect_locks
