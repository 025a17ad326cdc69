"""Ray and its clusters: how processes start or join one, where roles run, and jobs submitted to one."""
