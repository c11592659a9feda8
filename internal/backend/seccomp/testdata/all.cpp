#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <sys/sem.h>
#include <sys/shm.h>
#include <vector>

int main() {
    std::vector<std::future<int>> squares;
    for (int i = 0; i < 8; i++) squares.push_back(std::async(std::launch::async, [i] { return i * i; }));
    int sum = 0;
    for (auto &s : squares) sum += s.get();
    if (sum != 140 || std::system("true") != 0) return 1;

    std::ofstream("a") << "a";
    std::filesystem::copy_file("a", "b", std::filesystem::copy_options::overwrite_existing);

    int memory = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT);
    if (shmat(memory, nullptr, 0) == (void *)-1) return 2;
    shmctl(memory, IPC_RMID, nullptr);
    int semaphore = semget(IPC_PRIVATE, 1, 0600);
    if (semaphore < 0) return 3;
    semctl(semaphore, 0, IPC_RMID);
    std::cout << "ok" << std::endl;
}
