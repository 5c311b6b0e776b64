"""Three bodies in a chain between two force-torque sensors."""

CHAIN = """
bodies:
  a: {pose: /a}
  b: {pose: /b, parent: a, joint: revolute, axis: [0, 1, 0], position: [0.1, 0, -0.4]}
  c: {pose: /c, parent: b, joint: spherical, position: [0, 0, -0.3]}
wrenches:
  /base: {acts_on: a, point: [0.02, -0.05, 0.1], rpy: [0.3, -0.2, 1.0]}
  /ankle: {acts_on: c, from: b, axes: world}
"""
