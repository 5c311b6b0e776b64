// Torque from ~/base_parameters of the identification node and its band from ~/prediction_band,
// both diagnostic_msgs/msg/DiagnosticArray.  Header only, C++17, no allocation after construction.
//
// Keys and formulas: doc/contract.md.  With pinocchio:
//
//   inertial_id::IdentifiedTorque terms(message, joint_of_link, joint_index);
//   model.gravity.linear() << terms.gravity()[0], terms.gravity()[1], terms.gravity()[2];
//   const auto & Y = pinocchio::computeJointTorqueRegressor(model, data, q, v, a);
//   tau = Y * Eigen::Map<const Eigen::VectorXd>(terms.pi().data(), terms.pi().size());
//   const auto & n = pinocchio::rnea(model, data, q, v, a);  // by the bodies of the description
//   for (int j = 0; j < model.nv; ++j) tau[j] += terms.joint_term(j, q[j], v[j], a[j], n[j]);
//
// joint_of_link: link name -> number of the joint that carries it, from 0
// (model.frames[model.getFrameId(link, pinocchio::BODY)].parentJoint - 1); joint_index: joint name
// -> index of its velocity (model.joints[model.getJointId(joint)].idx_v()).  Both: negative where
// there is none.
//
//   inertial_id::PredictionBand band(band_message, joint_index);
//   band.at(q.data(), v.data(), a.data(), half.data(), outside.data());
//
// tau -+ half [N m] holds 95 % of motion like the training; outside 0: within its range.

#ifndef INERTIAL_ID_IDENTIFIED_TORQUE_HPP_
#define INERTIAL_ID_IDENTIFIED_TORQUE_HPP_

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace inertial_id
{

using Index = std::function<int (const std::string &)>;
using Values = std::map<std::string, std::string>;

template<class Status>
Values values_of(const Status & row)
{
  Values out;
  for (const auto & pair : row.values) {
    out[pair.key] = pair.value;
  }
  return out;
}

template<class Map>
const auto & at(const Map & map, const std::string & key)
{
  const auto found = map.find(key);
  if (found == map.end()) {
    throw std::runtime_error("identified_torque: unknown or missing: " + key);
  }
  return found->second;
}

// Independent of the locale, which std::stod is not.
inline double number_of(const Values & values, const std::string & key)
{
  const std::string & text = at(values, key);
  double out = 0.0;
  if (std::from_chars(text.data(), text.data() + text.size(), out).ec != std::errc()) {
    throw std::runtime_error("identified_torque: " + key + " is no number: " + text);
  }
  return out;
}

inline int place_of(const Index & index, const std::string & name)
{
  const int out = index(name);
  if (out < 0) {
    throw std::runtime_error("identified_torque: the robot has no " + name);
  }
  return out;
}

struct State
{
  double q, v, a, n;  // n: torque of the joint by the description [N m]
};
using Law = double (*)(const State &, double c);

inline double sign(double v) {return (v > 0.0) - (v < 0.0);}
inline double step(double v, double c) {return c > 0.0 ? std::tanh(v / c) : sign(v);}
inline double arc(double x) {return 0.63661977236758134308 * std::atan(x);}  // 2 / pi

inline Law law_of(const std::string & name)
{
  using S = const State &;
  static constexpr double w = 0.01;  // [rad/s]
  static const std::map<std::string, Law> laws{
    {"viscous", [](S s, double) {return s.v;}},
    {"presliding", [](S s, double) {return sign(s.v);}},  // c [rad] after a reversal it is less
    {"coulomb", [](S s, double c) {return step(s.v, c);}},
    {"coulomb_atan", [](S s, double c) {return c > 0.0 ? arc(s.v / c) : sign(s.v);}},
    {"asymmetric", [](S s, double c) {return std::abs(step(s.v, c));}},
    {"stiction", [](S s, double c) {return c > 0.0 ? arc(s.v / c) : sign(s.v);}},
    {"stribeck_atan", [](S s, double c) {return arc(c * std::abs(s.v)) * arc(s.v / w);}},
    {"stribeck", [](S s, double c) {return std::exp(-std::pow(s.v / c, 2)) * step(s.v, w);}},
    {"power", [](S s, double c) {return sign(s.v) * std::pow(std::abs(s.v), c);}},
    {"offset", [](S, double) {return 1.0;}},
    {"armature", [](S s, double) {return s.a;}},
    {"spring", [](S s, double) {return s.q;}},
    {"spring2", [](S s, double) {return s.q * s.q;}},
    {"spring3", [](S s, double) {return s.q * s.q * s.q;}},
    {"sine1", [](S s, double) {return std::sin(s.q);}},
    {"cosine1", [](S s, double) {return std::cos(s.q);}},
    {"sine2", [](S s, double) {return std::sin(2.0 * s.q);}},
    {"cosine2", [](S s, double) {return std::cos(2.0 * s.q);}},
    {"sine3", [](S s, double) {return std::sin(3.0 * s.q);}},
    {"cosine3", [](S s, double) {return std::cos(3.0 * s.q);}},
    {"sine4", [](S s, double) {return std::sin(4.0 * s.q);}},
    {"cosine4", [](S s, double) {return std::cos(4.0 * s.q);}},
    {"coulomb_load", [](S s, double c) {return std::abs(s.n) * step(s.v, c);}}};
  return at(laws, name);
}

class IdentifiedTorque
{
public:
  // message: a DiagnosticArray, or anything with the same fields; indices: see the head.
  template<class Message>
  IdentifiedTorque(
    const Message & message, const Index & joint_of_link, const Index & joint_index)
  {
    static const std::map<std::string, std::size_t> elements{
      {"m", 0}, {"mcx", 1}, {"mcy", 2}, {"mcz", 3}, {"Ixx", 4}, {"Ixy", 5}, {"Iyy", 6}, {"Ixz", 7},
      {"Iyz", 8}, {"Izz", 9}};
    for (const auto & row : message.status) {
      const Values values = values_of(row);
      const auto x = [&](const char * key) {return number_of(values, key);};
      if (row.name == "gravity_base") {
        gravity_ = {x("x"), x("y"), x("z")};
      } else if (values.count("element")) {
        const std::size_t first = 10u * place_of(joint_of_link, row.hardware_id);
        pi_.resize(std::max(pi_.size(), first + 10u), 0.0);
        pi_[first + at(elements, values.at("element"))] += x("used");
      } else {
        terms_.push_back(
          {place_of(joint_index, row.hardware_id), law_of(at(values, "law")), x("used"),
            values.count("c") ? x("c") : 0.0});
      }
    }
  }

  // Parameters of the bodies, ten each, for the columns of computeJointTorqueRegressor; resize it
  // to 10 (njoints - 1) where the last bodies have none.
  const std::vector<double> & pi() const {return pi_;}

  // In the base frame [m/s^2].
  const std::array<double, 3> & gravity() const {return gravity_;}

  // Friction, offset, rotor and spring of a joint [N m]; n: its torque by the description [N m].
  double joint_term(int joint, double q, double v, double a, double n) const
  {
    double tau = 0.0;
    for (const auto & term : terms_) {
      if (term.joint == joint) {
        tau += term.used * term.law({q, v, a, n}, term.c);
      }
    }
    return tau;
  }

private:
  struct Term
  {
    int joint;
    Law law;
    double used, c;
  };
  std::vector<double> pi_;
  std::vector<Term> terms_;
  std::array<double, 3> gravity_{};
};

// How far the identified torque may be from the robot's.
class PredictionBand
{
public:
  template<class Message>
  PredictionBand(const Message & message, const Index & joint_index)
  {
    for (const auto & row : message.status) {
      const Values values = values_of(row);
      const auto x = [&](const char * key) {return number_of(values, key);};
      joints_.push_back(
        {place_of(joint_index, row.name), x("constant"), x("per_speed"), x("per_acceleration"),
          x("near_reversal"), x("slow"), x("turns") > 0.0, {x("q_low"), x("q_high")},
          {x("v_low"), x("v_high")}, {x("a_low"), x("a_high")}});
    }
  }

  // half [N m]: half the width of each joint; outside: how far out of range it is [half ranges].
  // All have a place for each joint that joint_index names.
  void at(
    const double * q, const double * v, const double * a, double * half, double * outside) const
  {
    double far = 0.0;  // positions of all joints count, as they turn the weight
    for (const auto & joint : joints_) {
      far = std::max(far, beyond(joint.q, q[joint.place], joint.turns));
    }
    for (const auto & joint : joints_) {
      const int k = joint.place;
      const double speed = std::abs(v[k]);
      const double near = joint.slow > 0.0 ? std::max(0.0, 1.0 - speed / joint.slow) : 0.0;
      outside[k] = std::max(
        {far, beyond(joint.v, v[k], false), beyond(joint.a, a[k], false)});
      half[k] = (1.0 + outside[k]) * (
        joint.constant + joint.per_speed * speed + joint.per_acceleration * std::abs(a[k]) +
        joint.near_reversal * near);
    }
  }

private:
  using Range = std::array<double, 2>;
  struct Joint
  {
    int place;
    double constant, per_speed, per_acceleration, near_reversal, slow;
    bool turns;
    Range q, v, a;
  };

  // turns: a joint that is where it was, a turn further
  static double beyond(const Range & range, double x, bool turns)
  {
    constexpr double pi = 3.14159265358979323846;
    constexpr double margin = 0.04;  // an end of the range is one sample, with noise
    double way = std::abs(x - (range[0] + range[1]) / 2.0);
    if (turns) {
      way = std::abs(std::fmod(way + pi, 2.0 * pi) - pi);
    }
    if (!(range[1] > range[0])) {
      return 0.0;
    }
    const double excess = 2.0 * way / (range[1] - range[0]) - 1.0;
    return excess > margin ? excess : 0.0;
  }

  std::vector<Joint> joints_;
};

}  // namespace inertial_id

#endif  // INERTIAL_ID_IDENTIFIED_TORQUE_HPP_
