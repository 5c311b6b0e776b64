// The joint_trajectory_controller of ros2_controllers on a clock and measured states from a file.
//
//     real_controller SCENARIO        prints what benchmark/real_controller.py reads
//
// An executable of an ament package that depends on joint_trajectory_controller (Jazzy).
//
// SCENARIO, words apart by white space:
//   rate HZ   command position|effort   joints N NAME...
//   param bool|double NAME VALUE                       any number, as the controller declares them
//   send ARRIVAL topic|action STAMP JOINTS NAME... POINTS FIELDS then per point TIME VALUES...
//   switch UPDATE on|off                               deactivates or activates before that update
//   updates COUNT then per update SCALING and Q... V... as measured
// Times in ns; update k is at BEGIN + k / HZ.  FIELDS: 1 positions, 2 velocities, 3 accelerations.
//
// Output: "update K DESIRED... COMMAND..." each (N), "answer K 0|1" of send K, "result K CODE".
// The description is made here.  Keep it on this host: ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST.

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control_msgs/action/follow_joint_trajectory.hpp"
#include "joint_trajectory_controller/joint_trajectory_controller.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_action/rclcpp_action.hpp"

using Action = control_msgs::action::FollowJointTrajectory;
using Client = rclcpp_action::Client<Action>;
using Trajectory = trajectory_msgs::msg::JointTrajectory;

constexpr int64_t BEGIN = 100'000'000'000;  // [ns]
const std::string NAME = "controller";
const std::string SCALING = "speed_scaling/speed_scaling_factor";

class Controller : public joint_trajectory_controller::JointTrajectoryController
{
public:
  const std::vector<double> & desired() const { return state_desired_.positions; }
  const void * newest() { return new_trajectory_msg_.readFromNonRT()->get(); }
  bool has_goal() { return *rt_active_goal_.readFromNonRT() != nullptr; }
};

struct Send
{
  int64_t arrival;
  bool action;
  std::shared_ptr<Trajectory> trajectory = std::make_shared<Trajectory>();
};

struct Scenario
{
  int64_t rate = 0;
  std::string command;
  std::vector<std::string> joints;
  std::vector<rclcpp::Parameter> parameters;
  std::vector<Send> sends;
  std::map<int, bool> switches;
  std::vector<double> scaling;
  std::vector<std::vector<double>> states;
};

template <class T>
T take(std::istream & in)
{
  T out;
  if (!(in >> out)) {
    throw std::runtime_error("the scenario ends too early, or holds a wrong word");
  }
  return out;
}

builtin_interfaces::msg::Duration duration(int64_t ns)
{
  return rclcpp::Duration(std::chrono::nanoseconds(ns));
}

std::vector<double> numbers(std::istream & in, size_t count)
{
  std::vector<double> out(count);
  for (auto & x : out) {
    x = std::stod(take<std::string>(in));  // also nan
  }
  return out;
}

Send read_send(std::istream & in)
{
  Send out;
  out.arrival = take<int64_t>(in);
  out.action = take<std::string>(in) == "action";
  out.trajectory->header.stamp = rclcpp::Time(take<int64_t>(in));
  const auto joints = take<size_t>(in);
  for (size_t j = 0; j < joints; ++j) {
    out.trajectory->joint_names.push_back(take<std::string>(in));
  }
  const auto points = take<int>(in), fields = take<int>(in);
  for (int i = 0; i < points; ++i) {
    trajectory_msgs::msg::JointTrajectoryPoint point;
    point.time_from_start = duration(take<int64_t>(in));
    point.positions = numbers(in, joints);
    if (fields > 1) {point.velocities = numbers(in, joints);}
    if (fields > 2) {point.accelerations = numbers(in, joints);}
    out.trajectory->points.push_back(point);
  }
  return out;
}

// A chain of revolute joints: the controller asks the description which turn without end.
std::string description(const std::vector<std::string> & joints)
{
  std::string out = "<robot name='chain'><link name='0'/>", last = "0";
  for (const auto & joint : joints) {
    out += "<link name='" + joint + "_link'/><joint name='" + joint + "' type='revolute'>"
      "<parent link='" + last + "'/><child link='" + joint + "_link'/><axis xyz='0 0 1'/>"
      "<limit lower='-6' upper='6' velocity='10' effort='1000'/></joint>";
    last = joint + "_link";
  }
  return out + "</robot>";
}

Scenario read(std::istream & in)
{
  Scenario out;
  std::string word;
  while (in >> word) {
    if (word == "rate") {
      out.rate = take<int64_t>(in);
    } else if (word == "command") {
      out.command = take<std::string>(in);
    } else if (word == "joints") {
      const auto count = take<size_t>(in);
      for (size_t j = 0; j < count; ++j) {
        out.joints.push_back(take<std::string>(in));
      }
    } else if (word == "param") {
      const auto kind = take<std::string>(in), name = take<std::string>(in);
      if (kind == "bool") {
        out.parameters.emplace_back(name, take<std::string>(in) == "true");
      } else {
        out.parameters.emplace_back(name, take<double>(in));
      }
    } else if (word == "send") {
      out.sends.push_back(read_send(in));
    } else if (word == "switch") {
      const auto update = take<int>(in);
      out.switches[update] = take<std::string>(in) == "on";
    } else if (word == "updates") {
      const auto count = take<size_t>(in);
      for (size_t k = 0; k < count; ++k) {
        out.scaling.push_back(take<double>(in));
        out.states.push_back(numbers(in, 2 * out.joints.size()));
      }
    } else {
      throw std::runtime_error("unknown word " + word);
    }
  }
  return out;
}

class Bench
{
public:
  explicit Bench(Scenario scenario)
  : given_(std::move(scenario)), period_(1'000'000'000 / given_.rate)
  {
    using hardware_interface::CommandInterface;
    using hardware_interface::StateInterface;
    for (const auto & joint : given_.joints) {
      commands_.push_back(std::make_shared<CommandInterface>(joint, given_.command));
      for (const char * kind : {"position", "velocity"}) {
        states_.push_back(std::make_shared<StateInterface>(joint, kind));
      }
    }
    if (given_.command == "position") {
      states_.push_back(std::make_shared<StateInterface>("speed_scaling", "speed_scaling_factor"));
      given_.parameters.emplace_back("speed_scaling.state_interface", SCALING);
    }
    given_.parameters.emplace_back("joints", given_.joints);
    given_.parameters.emplace_back(
      "command_interfaces", std::vector<std::string>{given_.command});
    given_.parameters.emplace_back(
      "state_interfaces", std::vector<std::string>{"position", "velocity"});
    given_.parameters.emplace_back("use_sim_time", true);
    controller_interface::ControllerInterfaceParams init;
    init.controller_name = NAME;
    init.robot_description = description(given_.joints);
    init.update_rate = init.controller_manager_update_rate =
      static_cast<unsigned int>(given_.rate);
    init.node_options = rclcpp::NodeOptions().parameter_overrides(given_.parameters);
    if (controller_->init(init) != controller_interface::return_type::OK) {
      throw std::runtime_error("the controller refuses its parameters");
    }
    set_clock(BEGIN);
    controller_->configure();
    executor_.add_node(controller_->get_node()->get_node_base_interface());
    executor_.add_node(node_);
    publisher_ = node_->create_publisher<Trajectory>(
      "/" + NAME + "/joint_trajectory", rclcpp::QoS(10).reliable());
    client_ = rclcpp_action::create_client<Action>(node_, "/" + NAME + "/follow_joint_trajectory");
    spin_until([&] {
        return publisher_->get_subscription_count() > 0 && client_->action_server_is_ready();
      }, 20.0);
  }

  void run()
  {
    measure(0);
    switch_to(true);
    size_t sent = 0;
    bool on = true;
    for (size_t k = 0; k < given_.states.size(); ++k) {
      const auto now = BEGIN + static_cast<int64_t>(k) * period_;
      for (; sent < given_.sends.size() && given_.sends[sent].arrival <= now; ++sent) {
        set_clock(given_.sends[sent].arrival);
        send(sent);
      }
      set_clock(now);
      measure(k);
      if (given_.switches.count(static_cast<int>(k))) {
        switch_to(on = given_.switches[static_cast<int>(k)]);
      }
      if (on) {
        controller_->update(
          rclcpp::Time(now, RCL_ROS_TIME), rclcpp::Duration(std::chrono::nanoseconds(period_)));
      }
      print(k);
    }
    spin_until([&] {return results_ == handles_.size();}, 2.0);
  }

private:
  void set_clock(int64_t ns)
  {
    auto * clock = controller_->get_node()->get_clock()->get_clock_handle();
    if (rcl_enable_ros_time_override(clock) || rcl_set_ros_time_override(clock, ns)) {
      throw std::runtime_error("the controller's clock cannot be set");
    }
  }

  void measure(size_t k)
  {
    const auto n = given_.joints.size();
    for (size_t j = 0; j < n; ++j) {
      (void)states_[2 * j]->set_value(given_.states[k][j]);
      (void)states_[2 * j + 1]->set_value(given_.states[k][n + j]);
    }
    if (states_.size() > 2 * n) {
      (void)states_.back()->set_value(given_.scaling[k]);
    }
  }

  void switch_to(bool on)
  {
    if (!on) {
      controller_->get_node()->deactivate();
      controller_->release_interfaces();
      return;
    }
    std::vector<hardware_interface::LoanedCommandInterface> commands;
    std::vector<hardware_interface::LoanedStateInterface> states;
    for (auto & one : commands_) {commands.emplace_back(one, nullptr);}
    for (auto & one : states_) {states.emplace_back(one, nullptr);}
    controller_->assign_interfaces(std::move(commands), std::move(states));
    controller_->get_node()->activate();
  }

  void send(size_t number)
  {
    const auto & one = given_.sends[number];
    const void * before = controller_->newest();
    bool accepted = false;
    if (one.action) {
      Action::Goal goal;
      goal.trajectory = *one.trajectory;
      auto future = client_->async_send_goal(goal);
      spin_until([&] {
          return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
        }, 10.0);
      auto handle = future.get();
      accepted = handle != nullptr;
      if (accepted) {
        spin_until([&] {return controller_->newest() != before && controller_->has_goal();}, 5.0);
        handles_.push_back(handle);
        client_->async_get_result(handle, [this, number](const auto & result) {
            std::printf("result %zu %d\n", number, result.result->error_code);
            ++results_;
          });
      }
    } else {
      publisher_->publish(*one.trajectory);
      accepted = spin_until([&] {return controller_->newest() != before;}, 1.5);
    }
    spin_until([] {return false;}, 0.03);  // answers to earlier goals
    std::printf("answer %zu %d\n", number, accepted);
  }

  template <class Condition>
  bool spin_until(Condition done, double seconds)
  {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!done() && std::chrono::steady_clock::now() < end) {
      executor_.spin_once(std::chrono::milliseconds(10));
    }
    return done();
  }

  void print(size_t k)
  {
    std::printf("update %zu", k);
    for (const double x : controller_->desired()) {std::printf(" %.17g", x);}
    for (const auto & one : commands_) {std::printf(" %.17g", *one->get_optional());}
    std::printf("\n");
  }

  Scenario given_;
  int64_t period_;
  std::shared_ptr<Controller> controller_ = std::make_shared<Controller>();
  std::vector<std::shared_ptr<hardware_interface::CommandInterface>> commands_;
  std::vector<std::shared_ptr<hardware_interface::StateInterface>> states_;
  rclcpp::Node::SharedPtr node_ = std::make_shared<rclcpp::Node>("sender");
  rclcpp::executors::SingleThreadedExecutor executor_;
  rclcpp::Publisher<Trajectory>::SharedPtr publisher_;
  Client::SharedPtr client_;
  std::vector<rclcpp_action::ClientGoalHandle<Action>::SharedPtr> handles_;
  size_t results_ = 0;
};

int main(int argc, char ** argv)
{
  if (argc != 2) {
    std::cerr << "usage: real_controller SCENARIO\n";
    return 2;
  }
  std::ifstream file(argv[1]);
  file.exceptions(std::ios::badbit);
  rclcpp::init(1, argv);
  try {
    Bench(read(file)).run();
  } catch (const std::exception & error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  rclcpp::shutdown();
  return 0;
}
