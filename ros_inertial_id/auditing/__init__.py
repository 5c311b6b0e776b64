"""What is wrong with a robot description, without a recording: links, joints, findings."""
