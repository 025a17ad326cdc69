"""What every run has: its folder, its sessions, its output and its status."""
