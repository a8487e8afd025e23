"""Human judging of perturbed texts: a static page to judge on, and its answers read back."""
