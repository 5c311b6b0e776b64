// Torque from ~/base_parameters of the identification node and its band from ~/prediction_band,
// header only, C++17, no allocation after construction.
//
// Layout and formulas: doc/contract.md.  With pinocchio:
//
//   inertial_id::IdentifiedTorque terms(labels, message.data, body_index, joint_index);
//   const auto & Y = pinocchio::computeJointTorqueRegressor(model, data, q, v, a);
//   tau = Y * Eigen::Map<const Eigen::VectorXd>(terms.pi().data(), terms.pi().size());
//   const auto & n = pinocchio::rnea(model, data, q, v, a);  // by the bodies of the description
//   for (int j = 0; j < model.nv; ++j) tau[j] += terms.joint_term(j, q[j], v[j], a[j], n[j]);
//
// labels: message.layout.dim[k].label, k = 0..4.  body_index: link name -> number of its joint in
// the model, from 0 (model.frames[model.getFrameId(link)].parentJoint - 1), negative where it is
// none; joint_index: joint name -> index of its velocity.  Set model.gravity to gravity().
//
//   inertial_id::PredictionBand band(band_labels, band_message.data, joint_index);
//   band.at(q.data(), v.data(), a.data(), half.data(), outside.data());
//
// tau -+ half [N m] holds 95 % of motion like the training; outside 0: within its range.

#ifndef INERTIAL_ID_IDENTIFIED_TORQUE_HPP_
#define INERTIAL_ID_IDENTIFIED_TORQUE_HPP_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace inertial_id
{

enum class Law
{
  viscous, presliding, coulomb, coulomb_atan, asymmetric, stiction, stribeck_atan, stribeck, power,
  offset, armature, spring, spring2, spring3, sine1, cosine1, sine2, cosine2, sine3, cosine3,
  coulomb_load
};

inline double column(Law law, double q, double v, double a, double c, double n)
{
  constexpr double step = 0.01;  // [rad/s] of the sign function in stiction and Stribeck's laws
  constexpr double two_by_pi = 0.63661977236758134308;
  const double sign = (v > 0.0) - (v < 0.0);
  switch (law) {
    case Law::viscous: return v;
    case Law::presliding: return sign;  // developed; c [rad] after a reversal it is less
    case Law::coulomb: return c > 0.0 ? std::tanh(v / c) : sign;
    case Law::coulomb_atan: return c > 0.0 ? two_by_pi * std::atan(v / c) : sign;
    case Law::asymmetric: return std::abs(std::tanh(v / c));
    case Law::stiction: return two_by_pi * std::atan(v / step);
    case Law::stribeck_atan:
      return two_by_pi * two_by_pi * std::atan(c * std::abs(v)) * std::atan(v / step);
    case Law::stribeck: return std::exp(-(v / c) * (v / c)) * std::tanh(v / step);
    case Law::power: return sign * std::pow(std::abs(v), c);
    case Law::offset: return 1.0;
    case Law::armature: return a;
    case Law::spring: return q;
    case Law::spring2: return q * q;
    case Law::spring3: return q * q * q;
    case Law::sine1: return std::sin(q);
    case Law::cosine1: return std::cos(q);
    case Law::sine2: return std::sin(2.0 * q);
    case Law::cosine2: return std::cos(2.0 * q);
    case Law::sine3: return std::sin(3.0 * q);
    case Law::cosine3: return std::cos(3.0 * q);
    case Law::coulomb_load: return std::abs(n) * std::tanh(v / c);
  }
  return 0.0;
}

inline std::vector<std::string> split(const std::string & text)
{
  std::vector<std::string> out;
  std::stringstream stream(text);
  for (std::string word; std::getline(stream, word, ','); ) {
    out.push_back(word);
  }
  return out;
}

inline std::size_t index_of(const std::vector<std::string> & names, const std::string & name)
{
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (names[k] == name) {
      return k;
    }
  }
  throw std::runtime_error("base_parameters: no " + name);
}

inline Law law_of(const std::string & name)
{
  static const std::vector<std::string> names{
    "viscous", "presliding", "coulomb", "coulomb_atan", "asymmetric", "stiction", "stribeck_atan",
    "stribeck", "power", "offset", "armature", "spring", "spring2", "spring3", "sine1", "cosine1",
    "sine2", "cosine2", "sine3", "cosine3", "coulomb_load"};
  return static_cast<Law>(index_of(names, name));
}

class IdentifiedTorque
{
public:
  using Index = std::function<int (const std::string &)>;

  // labels: of the five dimensions; data: row by row; Index: see the head of this file.
  IdentifiedTorque(
    const std::vector<std::string> & labels, const std::vector<double> & data,
    const Index & body_index, const Index & joint_index)
  {
    if (labels.size() != 5) {
      throw std::runtime_error("base_parameters: not five dimensions");
    }
    const auto names = split(labels[0]), columns = split(labels[1]), owners = split(labels[2]);
    const auto laws = split(labels[3]), gravity = split(labels[4]);
    if (data.size() != names.size() * columns.size() || gravity.size() != 3) {
      throw std::runtime_error("base_parameters: data and labels do not fit");
    }
    for (int k = 0; k < 3; ++k) {
      gravity_[k] = std::stod(gravity[k]);
    }
    const auto used = index_of(columns, "used"), owner = index_of(columns, "owner");
    const auto element = index_of(columns, "element"), law = index_of(columns, "law");
    const auto nonlinear = index_of(columns, "nonlinear");
    for (std::size_t k = 0; k < names.size(); ++k) {
      const double * row = data.data() + k * columns.size();
      const std::string & name = owners.at(static_cast<std::size_t>(row[owner]));
      if (row[element] < 0.0) {
        const Law kind = law_of(laws.at(static_cast<std::size_t>(row[law])));
        terms_.push_back({joint_index(name), kind, row[used], row[nonlinear]});
        continue;
      }
      const int body = body_index(name);
      if (body < 0) {
        throw std::runtime_error("base_parameters: the model has no body " + name);
      }
      if (pi_.size() < 10u * (body + 1)) {
        pi_.resize(10u * (body + 1), 0.0);
      }
      pi_[10u * body + static_cast<std::size_t>(row[element])] += row[used];
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
        tau += term.coefficient * column(term.law, q, v, a, term.nonlinear, n);
      }
    }
    return tau;
  }

private:
  struct Term
  {
    int joint;
    Law law;
    double coefficient, nonlinear;
  };
  std::vector<double> pi_;
  std::vector<Term> terms_;
  std::array<double, 3> gravity_{};
};

// How far the identified torque may be from the robot's.
class PredictionBand
{
public:
  using Index = std::function<int (const std::string &)>;

  // labels: of the two dimensions; data: row by row; Index: place of a joint in the states.
  PredictionBand(
    const std::vector<std::string> & labels, const std::vector<double> & data,
    const Index & joint_index)
  {
    if (labels.size() != 2) {
      throw std::runtime_error("prediction_band: not two dimensions");
    }
    const auto names = split(labels[0]), columns = split(labels[1]);
    if (data.size() != names.size() * columns.size()) {
      throw std::runtime_error("prediction_band: data and labels do not fit");
    }
    for (std::size_t k = 0; k < names.size(); ++k) {
      const double * row = data.data() + k * columns.size();
      const auto value = [&](const std::string & name) {return row[index_of(columns, name)];};
      joints_.push_back(
        {joint_index(names[k]), value("constant"), value("per_speed"), value("per_acceleration"),
          value("near_reversal"), value("slow"), value("turns") > 0.0,
          {value("q_low"), value("q_high")}, {value("v_low"), value("v_high")},
          {value("a_low"), value("a_high")}});
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
