// The guide without its calls: what the servers know, and what the clients ask, whichever API they use.
#pragma once

#include "program.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace programs {

inline program_services::Place place_at(int north, int east) {
  program_services::Place place;
  place.set_north(north);
  place.set_east(east);
  return place;
}

inline bool same(const program_services::Place& a, const program_services::Place& b) {
  return a.north() == b.north() && a.east() == b.east();
}

// What a server knows. Its functions are called from any thread.
class guide_book {
 public:
  static constexpr int size = 1000;

  guide_book() {
    for (int i = 0; i < 100; ++i) {
      program_services::Hut hut;
      hut.set_name(i % 10 == 0 ? "" : "hut " + std::to_string(i));
      *hut.mutable_place() = place_at(i * 379 % size, i * 631 % size);
      huts_.push_back(hut);
    }
  }

  static grpc::Status checked(const program_services::Place& place) {
    if (place.north() >= 0 && place.north() < size && place.east() >= 0 && place.east() < size)
      return grpc::Status::OK;
    return {grpc::StatusCode::OUT_OF_RANGE, "not in the area",
            std::to_string(place.north()) + "," + std::to_string(place.east())};
  }

  grpc::Status find(const program_services::Place& place, program_services::Hut* found) const {
    const grpc::Status valid = checked(place);
    *found->mutable_place() = place;
    if (const program_services::Hut* hut = hut_at(place)) *found = *hut;
    return valid;
  }

  grpc::Status list(const program_services::Area& area, std::vector<program_services::Hut>* found) const {
    for (const program_services::Place& corner : {area.from(), area.to()}) {
      grpc::Status valid = checked(corner);
      if (!valid.ok()) return valid;
    }
    for (const program_services::Hut& hut : huts_) {
      const program_services::Place& at = hut.place();
      if (at.north() >= area.from().north() && at.north() <= area.to().north() &&
          at.east() >= area.from().east() && at.east() <= area.to().east())
        found->push_back(hut);
    }
    return grpc::Status::OK;
  }

  const program_services::Hut* hut_at(const program_services::Place& place) const {
    for (const program_services::Hut& hut : huts_)
      if (same(hut.place(), place)) return &hut;
    return nullptr;
  }

  // The earlier notes about the place of this one, which is kept.
  std::vector<program_services::Note> share(const program_services::Note& note) {
    const std::lock_guard lock(mutex_);
    std::vector<program_services::Note> earlier;
    for (const program_services::Note& one : notes_)
      if (same(one.place(), note.place())) earlier.push_back(one);
    notes_.push_back(note);
    return earlier;
  }

 private:
  std::vector<program_services::Hut> huts_;
  std::mutex mutex_;
  std::vector<program_services::Note> notes_;
};

// A hike as it grows.
class hike_record {
 public:
  explicit hike_record(const guide_book& book) : book_(book) {}
  grpc::Status add(const program_services::Place& place) {
    grpc::Status valid = guide_book::checked(place);
    if (!valid.ok()) return valid;
    if (hike_.places() > 0)
      hike_.set_distance(hike_.distance() + std::abs(place.north() - last_.north()) +
                         std::abs(place.east() - last_.east()));
    last_ = place;
    hike_.set_places(hike_.places() + 1);
    if (book_.hut_at(place)) hike_.set_huts(hike_.huts() + 1);
    return grpc::Status::OK;
  }
  const program_services::Hike& hike() const { return hike_; }

 private:
  const guide_book& book_;
  program_services::Place last_;
  program_services::Hike hike_;
};

inline grpc::Status checked(const program_services::Note& note) {
  return note.text().empty() ? grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "a note without text")
                             : grpc::Status::OK;
}

// Servers answer who asks.
inline void greet(grpc::ServerContextBase& context) {
  context.AddInitialMetadata("season", "summer");
  context.AddTrailingMetadata("bye", value_of(context.client_metadata(), "hiker"));
}

// What a call came to.
struct ended {
  grpc::Status status;
  std::string greeting;
  std::string bye;

  void from(const grpc::ClientContext& context) {
    greeting = value_of(context.GetServerInitialMetadata(), "season");
    bye = value_of(context.GetServerTrailingMetadata(), "bye");
  }
};

inline std::string shown(const ended& end) { return shown(end.status) + " " + end.greeting + " " + end.bye; }

inline std::string shown(const program_services::Hut& hut) {
  return "'" + hut.name() + "' at " + std::to_string(hut.place().north()) + "," +
         std::to_string(hut.place().east());
}

// A client, of any API. Its functions return when the call has ended.
class guide_client {
 public:
  virtual ~guide_client() = default;
  virtual ended find(const program_services::Place& place, program_services::Hut* found) = 0;
  // At the same time.
  virtual std::vector<std::pair<ended, program_services::Hut>> find_all(
      const std::vector<program_services::Place>& places) = 0;
  // Cancels when there are `enough` huts.
  virtual ended list(const program_services::Area& area, std::size_t enough,
                     std::vector<program_services::Hut>* found) = 0;
  virtual ended record(const std::vector<program_services::Place>& places, program_services::Hike* hike) = 0;
  // Notes go both ways at the same time.
  virtual ended share(const std::vector<program_services::Note>& notes,
                      std::vector<program_services::Note>* earlier) = 0;
};

inline void greet(grpc::ClientContext& context) { context.AddMetadata("hiker", "Ada"); }

// What a client asks.
inline void hike_with(guide_client& guide) {
  const auto area_of = [](int north, int east, int to_north, int to_east) {
    program_services::Area area;
    *area.mutable_from() = place_at(north, east);
    *area.mutable_to() = place_at(to_north, to_east);
    return area;
  };
  for (const program_services::Place& place :
       {place_at(379, 631), place_at(790, 310), place_at(1, 1), place_at(-1, 5)}) {
    program_services::Hut hut;
    const ended end = guide.find(place, &hut);
    say("find " + std::to_string(place.north()), shown(end), shown(hut));
  }
  {
    std::vector<program_services::Place> places;
    for (int i = 0; i < 100; ++i) places.push_back(place_at(i * 379 % 1000, i * 631 % 1000));
    places.push_back(place_at(2000, 0));
    int found = 0;
    for (const auto& [end, hut] : guide.find_all(places)) {
      if (end.status.ok() && !hut.name().empty()) ++found;
      if (!end.status.ok()) say("one of all", shown(end));
    }
    say("find all", found);
  }

  const auto list = [&guide](const std::string& name, const program_services::Area& area,
                             std::size_t enough = 1000000) {
    std::vector<program_services::Hut> huts;
    const ended end = guide.list(area, enough, &huts);
    std::string all;
    for (std::size_t i = 0; i < huts.size() && i < 5; ++i) all += "; " + shown(huts[i]);
    // The text of a cancellation is the library's own.
    say("list " + name, end.status.error_code() == grpc::StatusCode::CANCELLED ? "cancelled" : shown(end),
        huts.size(), all);
  };
  list("a part", area_of(0, 0, 300, 300));
  list("nothing", area_of(3, 3, 4, 4));
  list("everything", area_of(0, 0, 999, 999));
  list("beyond", area_of(0, 0, 999, 1000));
  program_services::Area endless = area_of(0, 0, 999, 999);
  endless.set_endless(true);
  list("without end", endless, 10000);

  const auto record = [&guide](const std::string& name, const std::vector<program_services::Place>& places) {
    program_services::Hike hike;
    const ended end = guide.record(places, &hike);
    say("record " + name, shown(end), hike.places(), hike.huts(), hike.distance());
  };
  record("nothing", {});
  record("a walk", {place_at(0, 0), place_at(379, 631), place_at(1, 1)});
  std::vector<program_services::Place> many;
  for (int i = 0; i < 5000; ++i) many.push_back(place_at(i * 379 % 1000, i * 631 % 1000));
  record("a year", many);
  many[10] = place_at(5, 1000);
  record("a year abroad", many);

  const auto share = [&guide](const std::string& name, const std::vector<program_services::Note>& notes) {
    std::vector<program_services::Note> earlier;
    const ended end = guide.share(notes, &earlier);
    std::string all;
    for (std::size_t i = 0; i < earlier.size() && i < 6; ++i) all += " " + earlier[i].text();
    say("share " + name, shown(end), earlier.size(), all);
  };
  const auto note = [](int north, const std::string& text) {
    program_services::Note n;
    *n.mutable_place() = place_at(north, 7);
    n.set_text(text);
    return n;
  };
  share("nothing", {});
  share("some", {note(1, "snow"), note(2, "goats"), note(1, "ice"), note(1, "thaw"), note(2, "more goats")});
  share("again", {note(1, "flowers")});
  share("with an empty one", {note(1, "bees"), note(3, ""), note(1, "never read")});
  std::vector<program_services::Note> all;
  for (int i = 0; i < 100; ++i) all.push_back(note(10 + i % 2, "note " + std::to_string(i)));
  share("many", all);
}

}  // namespace programs
